package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/perf/figures"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

// The curves of three cheap figures are within 5 % of their models.
func TestFigures(t *testing.T) {
	dir := t.TempDir()
	o := gauntlet(t, dir, "figures", "NT-3", "FS-8b", "LW-13a", "--out", "f")
	if o.code != 0 || !strings.Contains(o.stdout, "3 figures from 9 runs") {
		t.Fatalf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "f", "figures.json"))
	must(t, err)
	var m figures.Set
	must(t, json.Unmarshal(text, &m))
	for _, f := range m.Figures {
		for _, c := range f.Panels[0].Curves {
			for _, point := range c.Ours {
				if point.Estimate == nil || math.Abs(point.Estimate.Value / *point.Model - 1) > 0.05 {
					t.Errorf("%s, %s at %g: %+v, the model says %g", f.ID, c.Name, point.X,
						point.Estimate, *point.Model)
				}
			}
		}
		for _, ending := range []string{".svg", ".csv"} {
			if text, err := os.ReadFile(filepath.Join(dir, "f", f.ID+ending)); err != nil || len(text) < 200 {
				t.Errorf("%s%s: %d bytes, %v", f.ID, ending, len(text), err)
			}
		}
	}
}

func TestFiguresList(t *testing.T) {
	o := inProcess(t, t.TempDir(), "figures", "--list")
	if o.code != 0 || strings.Count(o.stdout, "\n") != len(targets.Figures()) {
		t.Errorf("exit %d\n%s", o.code, o.stdout)
	}
	for want, args := range map[string][]string{"figure \"LW-99\": unknown": {"LW-99"}, "--jobs 0": {"--jobs", "0"},
		"--confidence 2": {"--confidence", "2"}, "0 seeds": {"--seeds", "0"}} {
		if o := inProcess(t, t.TempDir(), append([]string{"figures"}, args...)...); o.code != exitUsage ||
			!strings.Contains(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %q", args, o.code, o.stderr)
		}
	}
}
