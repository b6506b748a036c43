package targets

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Figure is one figure of a paper as data: the values that its text states, those of the models, and the runs that
// measure them.
//
// The papers are available as text, so a point of a paper is one that its text states in numbers. Points that are only
// drawn are not included; Missing says so.
type Figure struct {
	ID         string // stable: the paper's family and number, such as LW-9, NT-3, FS-7b
	Source     string // paper, and figure
	Title      string
	Conditions string // conditions of our runs, and where these are shorter or smaller than the paper's
	Says       string // what the paper's text says of the figure in addition to its points
	Missing    string // what is not available, and why; "" when nothing is missing
	Panels     []Panel
}

// Panel is one plot of a figure.
type Panel struct {
	Title  string
	X, Y   Axis
	Curves []Curve
	Marks  []Mark
}

// Axis describes one axis of a panel.
type Axis struct {
	Name, Unit string
	Log        bool
}

// Curve is one transport or condition.
type Curve struct {
	Name    string
	Metric  Metric
	Ours    []Point
	Account string                  // name of an accounting function of x that replaces runs
	Model   func(x float64) float64 // nil when there is no closed form
	Span    [2]float64              // range of the model where nothing is measured; otherwise that of the points
	Paper   []Stated

	// PerPoint, when not nil, returns the metric of the point with index n, instead of Metric: the points are parts of
	// one run.
	PerPoint func(n int) Metric
}

// Point is a measurement at X.
type Point struct {
	X    float64
	Runs []string // runs for the metric; none with an Account
}

// Stated is a point that the paper's text states in numbers.
type Stated struct{ X, Y float64 }

// Mark is a value that the text states on one axis only: a knee on the X axis, a level on the Y axis.
type Mark struct {
	At    float64
	Level bool
	Text  string
}

// Figures returns the figures of all papers.
func Figures() []Figure {
	var all []Figure
	for _, paper := range [][]Figure{lowarFigures(), nttFigures(), goBackONEFigures(), fasrFigures(), iwarpFigures()} {
		all = append(all, paper...)
	}
	return all
}

// FindFigures returns the figures selected by names: an ID, a figure with letters for its parts (FS-7 for FS-7a,
// FS-7b), or a paper (LW). No names select all.
func FindFigures(names []string) ([]Figure, error) {
	all := Figures()
	if len(names) == 0 {
		return all, nil
	}
	var out []Figure
	for _, name := range names {
		n := len(out)
		for _, f := range all {
			if f.ID == name || strings.HasPrefix(f.ID, name+"-") || strings.TrimRight(f.ID, "abc") == name {
				out = append(out, f)
			}
		}
		if len(out) == n {
			return nil, fmt.Errorf("figure %.40q: unknown; see gauntlet figures --list", name)
		}
	}
	return out, nil
}

// figureForm matches a family of two letters, a number and a part.
var figureForm = regexp.MustCompile(`^[A-Z][A-Z0-9]-[0-9]+[abc]?$`)

// ValidateFigures returns an error for everything that is invalid in a list of figures, a line for each.
func ValidateFigures(all []Figure) error {
	var errs []error
	seen := map[string]bool{}
	for i := range all {
		f := &all[i]
		if seen[f.ID] {
			errs = append(errs, fmt.Errorf("%s: there twice; give each figure an ID of its own", f.ID))
		}
		seen[f.ID] = true
		if err := f.validate(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.ID, err))
		}
	}
	return errors.Join(errs...)
}

func (f *Figure) validate() error {
	switch {
	case !figureForm.MatchString(f.ID):
		return errors.New("the ID is not of the form LW-9 or FS-7b")
	case f.Source == "" || f.Title == "":
		return errors.New("no source or no title")
	case len(f.Panels) == 0:
		return errors.New("no panel")
	case f.Conditions == "" || f.Says == "":
		return errors.New("no conditions, or nothing that the paper says")
	}
	for _, p := range f.Panels {
		for i := range p.Curves {
			if err := p.Curves[i].validate(f.Missing); err != nil {
				return fmt.Errorf("panel %q, curve %q: %w", p.Title, p.Curves[i].Name, err)
			}
		}
	}
	return nil
}

// validate checks the curve; missing is the Missing of its figure.
func (c *Curve) validate(missing string) error {
	switch {
	case c.Name == "":
		return errors.New("no name")
	case len(c.Ours) == 0 && c.Model == nil:
		return errors.New("neither measured nor modelled")
	case (len(c.Ours) == 0 || len(c.Paper) == 0) && missing == "":
		return errors.New("not measured, or not stated by the paper; say why in Missing")
	case len(c.Ours) == 0 && !(c.Span[0] < c.Span[1]):
		return errors.New("no span of the model")
	}
	for n, p := range c.Ours {
		m := c.MetricAt(n)
		switch {
		case m.Name == "":
			return errors.New("no metric")
		case len(p.Runs) != m.Runs || m.Runs == 0 && c.Account == "":
			return fmt.Errorf("%d runs at %g; %s reads %d", len(p.Runs), p.X, m.Name, m.Runs)
		}
		for _, text := range p.Runs {
			if _, err := Parse(text); err != nil {
				return err
			}
		}
	}
	return nil
}

// MetricAt returns the metric of the point with an index.
func (c *Curve) MetricAt(n int) Metric {
	if c.PerPoint != nil {
		return c.PerPoint(n)
	}
	return c.Metric
}

// measured returns points, each with the runs that make returns for its x.
func measured(xs []float64, make func(x float64) []string) []Point {
	var out []Point
	for _, x := range xs {
		out = append(out, Point{x, make(x)})
	}
	return out
}

// shorter returns a scenario with another duration.
func shorter(text, length string) string { return scene(text, "run for="+length) }

// Axes that several figures share.
var (
	lossAxis    = Axis{Name: "loss", Log: true}
	goodputAxis = Axis{Name: "goodput", Unit: "Gb/s"}
	shareAxis   = Axis{Name: "share of the ceiling"}
)
