// Package writerecord is engines of datagram-iWARP that are wrong on purpose, one behaviour broken in each, to prove
// that the rules of the families DIW, UDSR and WREC can fail.
package writerecord

import (
	"embed"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/broken"
	"github.com/rdma-gauntlet/gauntlet/impls/writerecord"
)

// recipe is the source form of a variant.
type recipe struct {
	name, breaks, catches, scenarios string
	hooks                            func() hooks
}

//go:embed testdata
var stimuli embed.FS

// Family returns the variants.
func Family() broken.Family {
	var list []broken.Recipe
	for _, r := range recipes() {
		list = append(list,
			broken.Recipe{Name: r.name, Breaks: r.breaks, Catches: r.catches, Scenarios: r.scenarios, Change: r.change})
	}
	return broken.Make(writerecord.Implementation, stimuli, list...)
}

// change breaks the correct engine.
func (r *recipe) change(impl *engine.Implementation) {
	impl.NewHost = func(given engine.Params) (engine.Host, error) {
		inner, err := writerecord.NewHost(given)
		if err != nil {
			return nil, err
		}
		return &host{Host: inner, make: r.hooks}, nil
	}
	impl.New = func(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
		h, err := impl.NewHost(qp.Params)
		if err != nil {
			return nil, nil, err
		}
		return h.New(qp, mem)
	}
}
