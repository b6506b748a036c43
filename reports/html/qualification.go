package html

import (
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Qualification writes the page of a qualification. It lies in the folder of the qualification, from where it links to
// the reports of the scenarios.
func Qualification(w io.Writer, q *model.Qualification) error {
	return render(w, "qualification.tmpl", newQualificationView(q))
}

// qualificationView is the data of the page.
type qualificationView struct {
	*model.Qualification
	Policy   string
	Style    template.CSS
	Claims   []claimView
	Runs     []string // scenarios of the targets, each once
	Played   []playedView
	Declared []string // declarations of the programs
}

// playedView is one scenario.
type playedView struct {
	*model.ScenarioOutcome
	Link   string
	Bad    []certify.Item // properties of the link outside their bounds
	Report string         // from the page; "" when there is none
}

func newQualificationView(q *model.Qualification) *qualificationView {
	v := &qualificationView{Qualification: q, Policy: policy() + " 'none'", Style: template.CSS(asset("style.css"))}
	if q.Targets != nil {
		v.Claims = newPerfView(q.Targets).Claims
	}
	for _, c := range v.Claims {
		for _, m := range c.Measured {
			for _, text := range m.Scenarios {
				if !slices.Contains(v.Runs, text) {
					v.Runs = append(v.Runs, text)
				}
			}
		}
	}
	for _, runs := range [][]model.ScenarioOutcome{q.Scenarios, q.TargetRuns} {
		for i := range runs {
			v.Played = append(v.Played, newPlayedView(&runs[i], q.Folder))
		}
	}
	for _, c := range q.Capabilities {
		if text, err := json.MarshalIndent(c.Said, "", "  "); err == nil && c.Said != nil {
			v.Declared = append(v.Declared, string(text))
		}
	}
	return v
}

func newPlayedView(s *model.ScenarioOutcome, folder string) playedView {
	p := playedView{ScenarioOutcome: s, Link: "–"}
	valid := 0
	for _, c := range s.Certificates {
		if c.Valid {
			valid++
		}
		for _, item := range c.Items {
			if !item.OK {
				p.Bad = append(p.Bad, item)
			}
		}
	}
	if n := len(s.Certificates); n > 0 {
		p.Link = fmt.Sprintf("%d of %d certificates valid", valid, n)
	}
	if s.Folder != "" {
		if rel, err := filepath.Rel(folder, filepath.Join(s.Folder, "report.html")); err == nil {
			p.Report = "./" + filepath.ToSlash(rel)
		}
	}
	return p
}
