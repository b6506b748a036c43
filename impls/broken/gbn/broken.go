// Package gbn is engines of go-back-N, and of transports built on it, that are wrong on purpose.
//
// A variant wraps its engine in a shell that alters, drops, repeats or forges packets, events and placements
// (shell.go), gives it attributes that differ from those of the QP, or changes whole frames (frame.go). The variants of
// go-back-N are in files by fault: requests.go, responses.go, recovery.go, completion.go, work.go, hostile.go. Those of
// another transport are in a file, and their scenarios in a folder, of its name.
package gbn

import (
	"embed"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/broken"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// recipe is the source form of a variant. Catches and scenarios are lists of words.
type recipe struct {
	name, breaks, catches, scenarios string

	right func() engine.Implementation // the transport to break; nil is go-back-N

	attr   func(req, resp *engine.QP)   // changes the attributes with which the halves are built
	tamper func(e *end)                 // sets hooks on packets, events and placements
	impl   func(*engine.Implementation) // changes frames, opcodes, or other fields of the registry entry

	// control and controlImpl make additions to go-back-N that the scenarios need, in the variant and in its correct
	// counterpart.
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

// provoked are features that the scenarios need and the correct transports do not declare.
var provoked = []string{"ud", "extension", "nack_interval", "backto0"}

// asItShouldBe returns the correct counterpart.
func (r *recipe) asItShouldBe() engine.Implementation {
	impl := r.build(nil, nil)
	impl.Title = "as it should be"
	if r.control != nil || r.controlImpl != nil {
		impl.Title = "the correct counterpart of " + r.name
	}
	return impl
}

// change breaks the implementation that asItShouldBe returns.
func (r *recipe) change(impl *engine.Implementation) {
	*impl = r.build(r.attr, r.tamper)
	if r.impl != nil {
		r.impl(impl)
	}
}

// build returns the transport with the hooks of control and the given ones.
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
