package targets

import (
	"math"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
)

// The figures are complete, use existing runs, and have models with values wherever they are drawn.
func TestFigures(t *testing.T) {
	figures := Figures()
	if err := ValidateFigures(figures); err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		for _, p := range f.Panels {
			for _, c := range p.Curves {
				for _, o := range c.Ours {
					if c.Model != nil && !(c.Model(o.X) >= 0 && !math.IsInf(c.Model(o.X), 0)) {
						t.Errorf("%s, %s: the model is %g at %g", f.ID, c.Name, c.Model(o.X), o.X)
					}
					for _, text := range o.Runs {
						s, err := Parse(text)
						if err != nil {
							t.Fatal(err)
						}
						impl, ok := all.Find(s.Impl[0])
						if !ok {
							t.Fatalf("%s: no implementation %s", f.ID, s.Impl[0])
						}
						if err := impl.Try(s.Ends(0)[0], &memory.Host{}); err != nil {
							t.Errorf("%s, %s: %v", f.ID, c.Name, err)
						}
					}
				}
			}
		}
	}
}

func TestFindFigures(t *testing.T) {
	for names, want := range map[string]int{"": len(Figures()), "LW-9": 1, "FS-7": 3, "FS-7c": 1,
		"NT": 3, "LW-13,DI": 5} {
		var list []string
		if names != "" {
			list = strings.Split(names, ",")
		}
		if found, err := FindFigures(list); err != nil || len(found) != want {
			t.Errorf("%s: %d figures, %v, want %d", names, len(found), err, want)
		}
	}
	if _, err := FindFigures([]string{"LW-1"}); err == nil {
		t.Error("half a number is found")
	}
}

func TestValidateFiguresFindsMistakes(t *testing.T) {
	for want, change := range map[string]func(*Figure){
		"not of the form": func(f *Figure) { f.ID = "LoWAR 9" },
		"no source":       func(f *Figure) { f.Source = "" },
		"no panel":        func(f *Figure) { f.Panels = nil },
		"no conditions":   func(f *Figure) { f.Conditions = "" },
		"say why":         func(f *Figure) { f.Missing = "" },
		"no name":         func(f *Figure) { f.Panels[0].Curves[0].Name = "" },
		"neither":         func(f *Figure) { f.Panels[0].Curves[0] = Curve{Name: "x", Paper: []Stated{{1, 1}}} },
		"no span":         func(f *Figure) { f.Panels[0].Curves[0] = Curve{Name: "x", Model: math.Sqrt} },
		"0 runs":          func(f *Figure) { f.Panels[0].Curves[0].Ours[0].Runs = nil },
		"no metric":       func(f *Figure) { f.Panels[0].Curves[0].Metric = Metric{} },
		"scenario":        func(f *Figure) { f.Panels[0].Curves[0].Ours[0].Runs = []string{"load nonsense"} },
	} {
		bad := lowar11()
		change(&bad)
		if err := ValidateFigures([]Figure{bad}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error about %q, got %v", want, err)
		}
	}
	if err := ValidateFigures([]Figure{lowar11(), lowar11()}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("the same ID twice: %v", err)
	}
}
