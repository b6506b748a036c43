package engine

import (
	"slices"
	"testing"
)

// Only the variables of the group at the end of a list are renamed.
func TestNames(t *testing.T) {
	group := func(list []Var) []Var {
		return append(list, Var{Name: "next", Value: 7, IsPSN: true}, Var{Name: "held", Value: 2})
	}
	names := Prefixed("rd_", group(nil))
	list := make([]Var, 1, 3)
	list[0] = Var{Name: "next", Value: 1}
	got := names.Rename(group(list))
	want := []Var{{Name: "next", Value: 1}, {Name: "rd_next", Value: 7, IsPSN: true}, {Name: "rd_held", Value: 2}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if n := testing.AllocsPerRun(100, func() { names.Rename(group(list)) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
