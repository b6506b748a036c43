// Package fasr is FaSR engines that are wrong on purpose, one behaviour broken in each, to prove that every rule of the
// family can fail.
//
// Nothing of the right engine is changed. A variant puts it behind a shell that alters, drops, repeats or makes up
// packets, or gives a wrong account of the engine's variables; or it runs with other parameters than the run says.
package fasr

import (
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/fasr"
)

// Variant is one broken engine.
type Variant struct {
	Name      string   // short and lower case; the implementation is called "broken-" and this
	Breaks    string   // what is wrong, in one sentence
	Catches   []string // rules that must fail on it
	Scenarios []string // scenarios that provoke it: files of testdata, without extension
	Impl      engine.Implementation
}

// recipe is how a variant is written down. Catches and scenarios are lists of words.
type recipe struct {
	name, breaks, catches, scenarios string

	tamper func(e *end)
	params engine.Params // of the host, instead of those of the run
}

// Engines returns all variants, sorted by name.
func Engines() []Variant {
	var all []Variant
	for _, r := range recipes() {
		all = append(all, Variant{Name: r.name, Breaks: r.breaks, Catches: strings.Fields(r.catches),
			Scenarios: strings.Fields(r.scenarios), Impl: r.build()})
	}
	return all
}

// build makes the implementation.
func (r recipe) build() engine.Implementation {
	impl := fasr.Implementation()
	impl.Name, impl.Title = "broken-"+r.name, r.breaks
	impl.NewHost = func(given engine.Params) (engine.Host, error) {
		all := engine.Params{}
		for _, params := range []engine.Params{given, r.params} {
			for k, v := range params {
				all[k] = v
			}
		}
		h, err := fasr.NewHost(all)
		if err != nil {
			return nil, err
		}
		return host{h, r.tamper}, nil
	}
	return impl
}

// host puts shells around what a right host builds.
type host struct {
	engine.Host
	tamper func(*end)
}

// New implements engine.Host.
func (h host) New(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
	req, resp, err := h.Host.New(qp, mem)
	if err != nil {
		return nil, nil, err
	}
	e := end{qp: qp, req: &shell{inner: req}, resp: &shell{inner: resp}}
	if h.tamper != nil {
		h.tamper(&e)
	}
	return requester{e.req}, responder{e.resp}, nil
}
