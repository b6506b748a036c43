package meta

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Awake judges a recording, and what a capture at either port shows of it, once by rules and once by the same rules
// with checks that are shown every sight (rule.Rule.Attentive). It returns a line for each verdict that differs: a
// check that sleeps, or minds few kinds of sight, must have missed nothing.
func Awake(by Judge, rules []rule.Rule, r *Recording) ([]string, error) {
	attentive := make([]rule.Rule, len(rules))
	for i := range rules {
		attentive[i] = rules[i].Attentive()
	}
	var a account
	for _, view := range []struct {
		name   string
		header trace.Header
	}{{"", r.Header}, {"at A's port, ", captured(r.Header, trace.A)}, {"at B's port, ", captured(r.Header, trace.B)}} {
		play := r.Play
		if view.name != "" {
			play = func(s trace.Sink) error { return r.Play(packets{s}) }
		}
		given, err := by(view.header, rules, r.Options, play)
		if err != nil {
			return nil, err
		}
		all, err := by(view.header, attentive, r.Options, play)
		if err != nil {
			return nil, err
		}
		a.same(r.Name, view.name+"with checks that see everything", given, all)
	}
	return a.problems, nil
}

// captured returns the header of a capture at the port of a side: no reports, and of the attributes of the ends only
// those that packets show.
func captured(h trace.Header, side trace.Side) trace.Header {
	h.Taps, h.Reports, h.Conns = [2]bool{side == trace.A, side == trace.B}, 0, slices.Clone(h.Conns)
	for i := range h.Conns {
		for s := range h.Conns[i].Ends {
			e := &h.Conns[i].Ends[s]
			e.Known, e.Reports, e.QP = false, 0, engine.QP{QPN: e.QP.QPN, MTU: e.QP.MTU}
		}
	}
	return h
}

// packets is a sink without events.
type packets struct{ trace.Sink }

// Event implements trace.Sink.
func (packets) Event(*trace.Event) {}
