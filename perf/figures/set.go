package figures

import "github.com/rdma-gauntlet/gauntlet/perf/stats"

// FormatVersion is the version of Set's JSON form.
const FormatVersion = 1

// Set holds the papers' figures: the values in their texts, those of the models, and the measured ones. It is written
// as figures.json.
type Set struct {
	Format  int     `json:"format"`
	Version string  `json:"version"` // of this tool
	Commit  string  `json:"commit"`
	Started string  `json:"started"` // RFC 3339
	Wall    float64 `json:"wall_seconds"`
	Command string  `json:"command"`

	Confidence float64  `json:"confidence"` // of the intervals
	Seeds      int      `json:"seeds"`      // of runs in which chance has a part
	Runs       int      `json:"runs"`       // that were made; figures share them
	Figures    []Figure `json:"figures"`
}

// Figure is one figure of a paper.
type Figure struct {
	ID         string  `json:"id"`
	Source     string  `json:"source"`
	Title      string  `json:"title"`
	Conditions string  `json:"conditions"`        // conditions of this project's runs
	Says       string  `json:"says"`              // statements of the paper's text in addition to its points
	Missing    string  `json:"missing,omitempty"` // the part of the figure that cannot be reproduced, and the reason
	Panels     []Panel `json:"panels"`
}

// Panel is one plot of a figure.
type Panel struct {
	Title  string  `json:"title,omitempty"`
	X      Axis    `json:"x"`
	Y      Axis    `json:"y"`
	Curves []Curve `json:"curves"`
	Marks  []Mark  `json:"marks,omitempty"`
}

// Axis describes the quantity on an axis.
type Axis struct {
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"` // empty for a share or a ratio
	Log  bool   `json:"log,omitempty"`
}

// Curve is one transport or condition.
type Curve struct {
	Name  string       `json:"name"`
	Ours  []Measure    `json:"ours,omitempty"`
	Model [][2]float64 `json:"model,omitempty"` // x and y
	Paper [][2]float64 `json:"paper,omitempty"` // x and y, as the text states them
}

// Measure is the measured value at X.
type Measure struct {
	X         float64         `json:"x"`
	Model     *float64        `json:"model,omitempty"`
	Estimate  *stats.Estimate `json:"estimate,omitempty"`
	Values    []float64       `json:"values,omitempty"` // by seed
	Scenarios []string        `json:"scenarios,omitempty"`
	Trouble   string          `json:"trouble,omitempty"` // why there is no number
}

// Mark is a value that the text states on one axis only.
type Mark struct {
	At    float64 `json:"at"`
	Level bool    `json:"level,omitempty"` // on the Y axis; else on the X axis
	Text  string  `json:"text"`
}

// Troubles returns the reasons why points have no number, each once, for all of them.
func (m *Set) Troubles() (reasons []string, points int) {
	seen := map[string]bool{}
	for i := range m.Figures {
		r, n := m.Figures[i].Troubles()
		points += n
		for _, reason := range r {
			if !seen[reason] {
				seen[reason] = true
				reasons = append(reasons, reason)
			}
		}
	}
	return reasons, points
}

// Troubles is the same for one figure.
func (f *Figure) Troubles() (reasons []string, points int) {
	seen := map[string]bool{}
	for _, p := range f.Panels {
		for _, c := range p.Curves {
			for _, o := range c.Ours {
				if o.Trouble == "" {
					continue
				}
				points++
				if !seen[o.Trouble] {
					seen[o.Trouble] = true
					reasons = append(reasons, o.Trouble)
				}
			}
		}
	}
	return reasons, points
}
