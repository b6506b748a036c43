// Package broken says what an engine is that is wrong on purpose: a right one with one behaviour broken.
//
// A conformance rule that never fails proves nothing. Every rule of the catalogue therefore names, in one of the
// packages below, at least one engine that it must catch, and package brokentest runs them: the rule has to fail on the
// broken engine and to pass on the right one over the same scenario. The engines are also good company while a new rule
// is written.
//
// Nothing of the right engine is changed for this. Most variants put it behind a shell (package shell) that alters,
// drops, repeats or makes up packets, events and placements.
package broken

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/shell"
)

// Variant is one broken engine.
type Variant struct {
	Name      string   // short and lower case; the implementation is called "broken-" and this
	Breaks    string   // what is wrong, in one sentence
	Catches   []string // rules that must fail on it
	Scenarios []string // scenarios that provoke it; each rule fails on one of them at least

	// Impl is what is wrong, and Right the same as it should be: the transport, and what else the variant does that the
	// transport does not do by itself, such as sending datagrams.
	Impl, Right engine.Implementation
}

// Family is the broken engines of one package, with the scenarios that provoke them.
type Family struct {
	Variants []Variant // sorted by name
	Stimuli  fs.FS     // NAME.txt for each scenario, below the folder testdata
}

// Stimulus returns the text of a scenario.
func (f *Family) Stimulus(name string) (string, error) {
	text, err := fs.ReadFile(f.Stimuli, "testdata/"+name+".txt")
	return string(text), err
}

// Recipe is how a variant is written down. Catches and Scenarios are lists of words.
type Recipe struct {
	Name, Breaks, Catches, Scenarios string

	Right  func() engine.Implementation // what is broken; nil is the transport of the family
	Params engine.Params                // of the endpoint, instead of those of the run
	Tamper func(*shell.End)             // what happens to packets, events, placements and variables
	Change func(*engine.Implementation) // frames, opcodes, boxes, and whatever else a registry entry says
}

// Make makes a family of recipes, in any order.
func Make(right func() engine.Implementation, stimuli fs.FS, recipes ...Recipe) Family {
	f := Family{Stimuli: stimuli}
	for _, r := range recipes {
		if r.Right == nil {
			r.Right = right
		}
		f.Variants = append(f.Variants, r.variant())
	}
	slices.SortFunc(f.Variants, func(a, b Variant) int { return strings.Compare(a.Name, b.Name) })
	return f
}

func (r *Recipe) variant() Variant {
	impl := r.Right()
	if r.Tamper != nil || r.Params != nil {
		impl = shell.Around(impl, r.Params, r.Tamper)
	}
	if r.Change != nil {
		r.Change(&impl)
	}
	impl.Name, impl.Title = "broken-"+r.Name, r.Breaks
	return Variant{Name: r.Name, Breaks: r.Breaks, Catches: strings.Fields(r.Catches),
		Scenarios: strings.Fields(r.Scenarios),
		Impl:      impl, Right: r.Right()}
}
