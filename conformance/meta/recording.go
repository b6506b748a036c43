package meta

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Recording is a run that is kept in memory, as a trace.Sink that can be played again: in the very order in which it
// came, ties included. It is for short runs.
type Recording struct {
	Name    string // what was run, for findings
	Header  trace.Header
	Options rule.Options // with which it is judged
	steps   []step
	ended   vtime.Time
}

// step is a record or an event.
type step struct {
	record *trace.Record
	event  *trace.Event
}

// Packet implements trace.Sink.
func (r *Recording) Packet(x *trace.Record) { r.steps = append(r.steps, step{record: x.Clone()}) }

// Event implements trace.Sink.
func (r *Recording) Event(x *trace.Event) {
	e := *x
	r.steps = append(r.steps, step{event: &e})
}

// End implements trace.Sink.
func (r *Recording) End(at vtime.Time) { r.ended = at }

// Play hands everything to another sink.
func (r *Recording) Play(s trace.Sink) error {
	for _, x := range r.steps {
		if x.record != nil {
			s.Packet(x.record)
		} else {
			s.Event(x.event)
		}
	}
	s.End(r.ended)
	return nil
}

// Judge is what judges a trace: rule.NewJudge, but for the tests of this package.
type Judge func(h trace.Header, rules []rule.Rule, o rule.Options, play func(trace.Sink) error) ([]rule.Verdict, error)

// Judged is the Judge of the product.
func Judged(h trace.Header, rules []rule.Rule, o rule.Options, play func(trace.Sink) error) ([]rule.Verdict, error) {
	j := rule.NewJudge(h, rules, o)
	err := play(trace.NewTimeline(&h, j))
	return j.Verdicts(), err
}

// judge judges the recording as it is.
func (r *Recording) judge(by Judge, rules []rule.Rule) ([]rule.Verdict, error) {
	return by(r.Header, rules, r.Options, r.Play)
}
