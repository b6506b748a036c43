// Package broken is engines that are wrong on purpose: a transport, most often go-back-N, with one behaviour broken in each.
//
// A conformance rule that never fails proves nothing. Every rule of the catalogue therefore names, here, at least one
// engine that it must catch, and the test of this package runs them: the rule has to fail on the broken engine and to
// pass on the right one over the same scenario. The engines are also good company while a new rule is written.
//
// Nothing of the transport is changed for this. A variant puts its engine behind a shell that alters, drops, repeats or
// makes up packets, events and placements (shell.go), gives it other attributes than the QP has, or changes whole frames
// (frame.go). The families follow the side at fault: requests.go, responses.go, recovery.go, completion.go, hostile.go; what
// other transports than go-back-N do wrong stands in a file of the transport's name, its scenarios in a folder of it.
package broken

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// Variant is one broken engine.
type Variant struct {
	Name      string   // short and lower case; the implementation is called "broken-" and this
	Breaks    string   // what is wrong, in one sentence
	Catches   []string // rules that must fail on it
	Scenarios []string // scenarios that provoke it: files of testdata, without extension
	Impl      engine.Implementation

	// Control is the right counterpart: the transport as it should be, and for a variant that breaks what go-back-N does not do at all, such
	// as sending datagrams, go-back-N that does it right.
	Control engine.Implementation
}

// recipe is how a variant is written down. Catches and scenarios are lists of words.
type recipe struct {
	name, breaks, catches, scenarios string

	right func() engine.Implementation // the transport that is broken; nil is go-back-N

	attr   func(req, resp *engine.QP)   // attributes that the halves believe instead of the QP's
	tamper func(e *end)                 // what happens to packets, events and placements
	impl   func(*engine.Implementation) // frames, opcodes, and whatever else a registry entry says

	// control makes the right counterpart when that is more than go-back-N; what it does, the variant does as well.
	control     func(e *end)
	controlImpl func(*engine.Implementation)
}

// Engines returns all variants, sorted by name.
func Engines() []Variant {
	all := slices.Concat(
		headers(), segments(), numbers(), limits(), chatter(),
		acknowledgements(), counts(), readAnswers(), notReady(),
		retransmissions(), repetitions(), gaps(), patience(),
		completions(), placements(),
		credulous(), serving(), lengths(), unchecked(),
		frames(), extensions(), goBackOne())
	slices.SortFunc(all, func(a, b recipe) int { return cmp.Compare(a.name, b.name) })
	variants := make([]Variant, 0, len(all))
	for i := range all {
		variants = append(variants, all[i].variant())
	}
	return variants
}

// Find looks a variant up by its name.
func Find(name string) (Variant, bool) {
	for _, v := range Engines() {
		if v.Name == name {
			return v, true
		}
	}
	return Variant{}, false
}

func (r *recipe) variant() Variant {
	return Variant{
		Name: r.name, Breaks: r.breaks, Catches: strings.Fields(r.catches), Scenarios: strings.Fields(r.scenarios),
		Impl:    r.build("broken-"+r.name, r.breaks, r.attr, r.tamper, r.impl),
		Control: r.build(r.transport().Name, "as it should be", nil, nil, nil),
	}
}

// transport returns the right engine, without what the recipe makes of it.
func (r *recipe) transport() engine.Implementation {
	if r.right == nil {
		return gbn.Implementation()
	}
	return r.right()
}

// build makes an implementation of the control's parts and the given ones.
func (r *recipe) build(name, title string, attr func(req, resp *engine.QP), tamper func(*end), change func(*engine.Implementation)) engine.Implementation {
	impl := r.transport()
	halves := impl.New
	impl.Name, impl.Title = name, title
	impl.New = func(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
		e, err := newEnd(halves, qp, mem, attr)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range []func(*end){r.control, tamper} {
			if f != nil {
				f(e)
			}
		}
		return requester{e.req}, responder{e.resp}, nil
	}
	for _, f := range []func(*engine.Implementation){r.controlImpl, change} {
		if f != nil {
			f(&impl)
		}
	}
	return impl
}
