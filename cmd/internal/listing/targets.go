package listing

import (
	"fmt"
	"io"
	"math"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

type targetRow struct {
	ID     string     `json:"id"`
	Source string     `json:"source"`
	Class  string     `json:"class"`
	Claim  string     `json:"claim"`
	Reason string     `json:"reason,omitempty"`
	Checks []checkRow `json:"checks,omitempty"`
}

type checkRow struct {
	Name      string   `json:"name,omitempty"`
	Class     string   `json:"class"`
	Metric    string   `json:"metric"`
	Unit      string   `json:"unit,omitempty"`
	Paper     float64  `json:"paper,omitempty"`
	Model     float64  `json:"model,omitempty"`
	Low       *float64 `json:"low,omitempty"`
	High      *float64 `json:"high,omitempty"`
	Scenarios []string `json:"scenarios,omitempty"`
	Account   string   `json:"account,omitempty"`
}

func targetRows() any {
	var rows []targetRow
	for _, t := range targets.All() {
		row := targetRow{ID: t.ID, Source: t.Source, Class: string(t.Class), Claim: t.Claim, Reason: t.Reason}
		for _, c := range t.Checks {
			row.Checks = append(row.Checks, checkRow{Name: c.Name, Class: string(t.ClassOf(&c)), Metric: c.Metric.Name,
				Unit: c.Metric.Unit, Paper: c.Paper, Model: c.Model, Low: finite(c.Bound.Low),
				High: finite(c.Bound.High), Scenarios: c.Runs, Account: c.Account})
		}
		rows = append(rows, row)
	}
	return rows
}

func printTargets(w io.Writer) {
	for _, t := range targets.All() {
		fmt.Fprintf(w, "%s\t%c\t%s\t%s\n", t.ID, t.Class, t.Source, t.Claim)
		for _, c := range t.Checks {
			fmt.Fprintf(w, "\t%c\t  %s\t%s\n", t.ClassOf(&c), c.Title(), quantity.Bounds(finite(c.Bound.Low),
				finite(c.Bound.High))+" "+c.Metric.Unit)
		}
	}
}

// finite returns nil for an infinite end of a bound.
func finite(x float64) *float64 {
	if math.IsInf(x, 0) {
		return nil
	}
	return &x
}
