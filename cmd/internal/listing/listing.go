// Package listing makes the lists of the command list, as tables and as JSON: implementations, rules and measurements.
package listing

import (
	"fmt"
	"io"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/matrix"
	"github.com/rdma-gauntlet/gauntlet/conformance/meta"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
)

// List is one list.
type List struct {
	Name  string
	Short string          // title of the list
	Rows  func() any      // returns the rows for JSON
	Print func(io.Writer) // writes the rows for people, with tabs between columns
}

// All returns every list.
func All() []List {
	return []List{
		{"impls", "implementations, their sources and parameters", implRows, printImpls},
		{"profiles", "what an implementation can be qualified for", profileRows, printProfiles},
		{"rules", "conformance rules, with what each needs and whether it is built", ruleRows, printRules},
		{"scenarios", "conformance scenarios", scenarioRows, printScenarios},
		{"links", "link impairments and loss models", linkRows, printLinks},
		{"matrix", "links that the matrix runs over", matrixRows, printMatrix},
		{"targets", "claims of the papers that perf measures", targetRows, printTargets},
	}
}

type implRow struct {
	Name    string         `json:"name"`
	Title   string         `json:"title"`
	Source  string         `json:"source"`
	Recover string         `json:"recovery"`
	Params  []engine.Param `json:"params,omitempty"`
}

func implRows() any {
	var rows []implRow
	for _, i := range all.Implementations() {
		rows = append(rows, implRow{i.Name, i.Title, i.Source, i.Recover, i.Params})
	}
	return rows
}

func printImpls(w io.Writer) {
	for _, i := range all.Implementations() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", i.Name, i.Title, i.Source)
		for _, p := range i.Params {
			fmt.Fprintf(w, "\t  --param %s=%s\t%s\n", p.Name, p.Default, p.Meaning)
		}
	}
}

type ruleRow struct {
	ID          string     `json:"id"`
	Level       rule.Level `json:"level"`
	Title       string     `json:"title"`
	Source      string     `json:"source"`
	Requirement string     `json:"requirement"`
	Needs       string     `json:"needs"`
	// properties of link, capture and host without which a verdict of the rule is INVALID
	RestsOn  string   `json:"rests_on"`
	Stimulus string   `json:"stimulus"`
	BlackBox string   `json:"black_box"`
	Features []string `json:"features,omitempty"`
	Built    bool     `json:"built"`
	Missing  string   `json:"missing,omitempty"`
}

func ruleRows() any {
	var rows []ruleRow
	for _, r := range catalogued() {
		rows = append(rows, ruleRow{ID: r.ID, Level: r.Level, Title: r.Title, Source: r.Source.Ref,
			Requirement: r.Source.Requirement,
			Needs:       r.Needs.String(), RestsOn: r.RestsOn().String(), Stimulus: r.Stimulus, BlackBox: r.BlackBox,
			Features: r.Features, Built: r.Unbuilt == "", Missing: r.Unbuilt})
	}
	return rows
}

// catalogued returns all rules: those about traces, and those about the judge itself.
func catalogued() []rule.Rule { return append(rules.All(), meta.Rules()...) }

func printRules(w io.Writer) {
	for _, r := range catalogued() {
		state := ""
		if r.Unbuilt != "" {
			state = "\t[not built: " + r.Unbuilt + "]"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s%s\n", r.ID, r.Level, r.Source.Ref, r.Title, state)
	}
}

type scenarioRow struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

func scenarioRows() any {
	var rows []scenarioRow
	for _, s := range scenarios.All() {
		rows = append(rows, scenarioRow{s.Name, s.Title})
	}
	return rows
}

func printScenarios(w io.Writer) {
	for _, s := range scenarios.All() {
		fmt.Fprintf(w, "%s\t%s\n", s.Name, s.Title)
	}
}

func matrixRows() any { return matrix.Links() }

func printMatrix(w io.Writer) {
	for _, l := range matrix.Links() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", l.Name, l.Title, strings.ReplaceAll(l.Text, "\n", "; "))
	}
}

// linkRow describes one word of the link language.
type linkRow struct {
	Name    string `json:"name"`
	Form    string `json:"form"`
	Meaning string `json:"meaning"`
	Netem   bool   `json:"netem"` // the kernel's netem can do it
}

// links returns the words of the link language.
func links() []linkRow {
	return []linkRow{
		{"rate", "link rate=10G", "layer-1 line rate, serialisation before delay", true},
		{"delay", "link delay=20ms", "one-way propagation", true},
		{"jitter", "link jitter=1ms", "uniform variation of the delay; packets may overtake", true},
		{"queue", "link queue=1000", "packets that may wait for the line", true},
		{"port", "link port=100G", "the sender's port is faster than the line, so that a queue builds up", false},
		{"ecn", "link ecn-min=5 ecn-max=200 ecn-p=1%", "the queue marks packets: a step, or a share that rises", false},
		{"reorder", "link reorder=0.1%", "share of packets that skip the delay", true},
		{"duplicate", "link duplicate=0.1%", "share of packets delivered twice", true},
		{"corrupt", "link corrupt=1e-4", "share of packets with one flipped bit", true},
		{"random", "loss random p=1e-4", "independent loss", true},
		{"gemodel", "loss gemodel p=1% r=30% h=50% k=100%",
			"Gilbert-Elliott: p good to bad, r back, h and k survival in bad and good", true},
		{"state", "loss state p13=1% p31=30% p32=0 p23=1 p14=0", "netem's four-state Markov chain", true},
		{"burst", "loss burst p=1e-4 len=8 h=0.3", "bad periods of a fixed length", false},
		{"tape", "loss tape file=fades.tape", "recorded decisions, replayed", false},
		{"fault", "drop A psn=+2 tx=1",
			"a scripted fault on named packets: drop dup delay reorder corrupt rewrite mark", false},
		{"inject", "inject B at=10us : WRITE_ONLY psn=+3 len=8", "a crafted packet", false},
	}
}

func linkRows() any { return links() }

func printLinks(w io.Writer) {
	for _, l := range links() {
		by := "relay, sim"
		if l.Netem {
			by = "netem, relay, sim"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l.Name, l.Form, l.Meaning, by)
	}
}
