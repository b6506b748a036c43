// Package gbn is engines of go-back-N, and of what is built on it, that are wrong on purpose.
//
// A variant puts its engine behind a shell that alters, drops, repeats or makes up packets, events and placements
// (shell.go), gives it other attributes than the QP has, or changes whole frames (frame.go). The files follow the side
// at fault: requests.go, responses.go, recovery.go, completion.go, work.go, hostile.go; what other transports than
// go-back-N do wrong stands in a file of the transport's name, its scenarios in a folder of it.
package gbn

import (
	"embed"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/broken"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

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

//go:embed testdata
var stimuli embed.FS

// Family returns the variants.
func Family() broken.Family {
	var list []broken.Recipe
	for _, r := range slices.Concat(
		headers(), segments(), numbers(), limits(), chatter(),
		acknowledgements(), counts(), readAnswers(), notReady(),
		retransmissions(), repetitions(), gaps(), patience(),
		completions(), placements(), work(),
		credulous(), serving(), lengths(), unchecked(),
		frames(), extensions(), goBackOne(), openAPN()) {
		list = append(list, broken.Recipe{Name: r.name, Breaks: r.breaks, Catches: r.catches, Scenarios: r.scenarios,
			Right: r.asItShouldBe, Change: r.change})
	}
	return broken.Make(nil, stimuli, list...)
}

// provoked are features that the scenarios ask for and the right transports do not declare.
var provoked = []string{"ud", "extension", "nack_interval", "backto0"}

// asItShouldBe returns the right counterpart.
func (r *recipe) asItShouldBe() engine.Implementation {
	impl := r.build(nil, nil)
	impl.Title = "as it should be"
	if r.control != nil || r.controlImpl != nil {
		impl.Title = "what " + r.name + " gets wrong, right"
	}
	return impl
}

// change breaks what asItShouldBe returns.
func (r *recipe) change(impl *engine.Implementation) {
	*impl = r.build(r.attr, r.tamper)
	if r.impl != nil {
		r.impl(impl)
	}
}

// build makes an implementation of the transport, of the control's parts, and of the given ones.
func (r *recipe) build(attr func(req, resp *engine.QP), tamper func(*end)) engine.Implementation {
	right := gbn.Implementation
	if r.right != nil {
		right = r.right
	}
	impl := right()
	halves := impl.New
	impl.Features = slices.Concat(impl.Features, provoked)
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
	if r.controlImpl != nil {
		r.controlImpl(&impl)
	}
	return impl
}
