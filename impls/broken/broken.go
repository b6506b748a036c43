// Package broken defines engines that are wrong on purpose: a correct engine with one behaviour broken.
//
// A conformance rule that never fails proves nothing. Every rule of the catalogue therefore names, in one of the
// packages below, at least one engine that it must catch, and package brokentest runs them: the rule must fail on the
// broken engine and pass on the correct one in the same scenario. The engines also help while a new rule is written.
//
// The correct engine itself is unchanged. Most variants wrap it in a shell (package shell) that alters, drops, repeats
// or forges packets, events and placements.
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
	Breaks    string   // the fault, in one sentence
	Catches   []string // rules that must fail on it
	Scenarios []string // scenarios that provoke the fault; each rule fails in at least one of them

	// Impl is the broken implementation, and Right its correct counterpart: the transport, with the additions that the
	// scenarios need and the fault does not concern, such as sending datagrams.
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

// Recipe is the source form of a variant. Catches and Scenarios are lists of words.
type Recipe struct {
	Name, Breaks, Catches, Scenarios string

	Right  func() engine.Implementation // implementation to break; nil is the transport of the family
	Params engine.Params                // of the endpoint; they override those of the run
	Tamper func(*shell.End)             // sets hooks on packets, events, placements and variables
	Change func(*engine.Implementation) // changes frames, opcodes, boxes, or other fields of the registry entry
}

// Make returns the family of recipes, which may be in any order.
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
