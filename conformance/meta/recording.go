package meta

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Recording is a trace.Sink that keeps a short run in memory and plays it again in the same order, including the order
// of records and events of equal times.
type Recording struct {
	Name    string // name of the run, for findings
	Header  trace.Header
	Options rule.Options // options of the judge
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

// Play plays the recording into another sink.
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

// Judge judges a trace. It is Judged, except in the tests of this package.
type Judge func(h trace.Header, rules []rule.Rule, o rule.Options, play func(trace.Sink) error) ([]rule.Verdict, error)

// Judged is the Judge of the program, which uses rule.NewJudge.
func Judged(h trace.Header, rules []rule.Rule, o rule.Options, play func(trace.Sink) error) ([]rule.Verdict, error) {
	j := rule.NewJudge(h, rules, o)
	err := play(trace.NewTimeline(&h, j))
	return j.Verdicts(), err
}

// judge judges the unchanged recording.
func (r *Recording) judge(by Judge, rules []rule.Rule) ([]rule.Verdict, error) {
	return by(r.Header, rules, r.Options, r.Play)
}
