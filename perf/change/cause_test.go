package change

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
)

// What one commit was found to have changed stays one entry, with what nobody searched for; several commits have an
// entry each. Searches of other ranges say nothing, and none explains a number in real time.
func TestAttribute(t *testing.T) {
	changed := func(name string, class history.Class) Change {
		return Change{Series: history.Series{Name: name, Class: class}, Kind: Regressed}
	}
	list := []Change{changed("a", history.Exact), changed("b", history.Paired), changed("c", history.Noisy)}
	x := Cause{Before: "1", Now: "9", Commit: "x", Title: "first", Series: []string{"a", "c"}}
	y := Cause{Before: "1", Now: "9", Commit: "y", Series: []string{"b"}}
	elsewhere := Cause{Before: "2", Now: "9", Commit: "z", Series: []string{"a", "b"}}
	for _, c := range []struct {
		causes []Cause
		want   map[string]int // changes by commit
	}{
		{[]Cause{elsewhere}, map[string]int{"": 3}},
		{[]Cause{x}, map[string]int{"x": 3}},
		{[]Cause{x, y, elsewhere}, map[string]int{"x": 1, "y": 1, "": 1}},
	} {
		r := &Report{Entries: []Entry{{Before: "1", Now: "9", Changes: list}, {Segment: "kernel", Series: []string{"k"}}}}
		r.Attribute(c.causes)
		got := map[string]int{}
		for _, e := range r.Entries {
			if e.Segment == "" {
				got[e.Commit] += len(e.Changes)
			}
		}
		if len(r.Entries) != len(c.want)+1 {
			t.Errorf("%+v", r.Entries)
		}
		for commit, n := range c.want {
			if got[commit] != n {
				t.Errorf("%s: %d changes, want %d: %+v", commit, got[commit], n, r.Entries)
			}
		}
	}
}
