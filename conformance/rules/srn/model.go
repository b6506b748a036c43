package srn

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var throughputLoss = define(rule.Rule{
	ID: "SRN-MOD-001", Level: rule.Should, Rests: validity.Everything,
	Title: "A flow that keeps the pipeline busy loses k p T_q / (t + k p T_q) of its throughput, within 2 %",
	Source: rule.Source{Ref: "FASR II-A, Figure 2", Requirement: "Every time the pipeline waits for the result of a " +
		"software SR query, the backlog of packets waiting to be processed will also increase, and the loss of " +
		"throughput at 1% packet loss on 400Gbps bandwidth can be as high as 40%."},
	Needs: rule.TapResponder | rule.Attributes, Sees: rule.RequestIn | rule.ResponseOut,
	Stimulus: "random loss in a flow of one QP at the rate of the pipeline",
	New: func(c *rule.Context) rule.Check {
		f := flow{c: c, pipe: pipeOf(c), last: vtime.Never}
		return rule.Check{Sight: f.sight, End: f.end}
	},
})

// Conditions under which the throughput of a flow is measured.
const (
	leastPackets  = 64
	leastRefilled = 4
	tightShare    = 0.8  // of the packets are answered at the rate of the pipeline, one directly after the other
	tightSlack    = 1.1  // of the service time of a packet
	tolerance     = 0.02 // of the throughput
)

// flow measures the throughput of one QP by its answers, one for each packet that passed the pipeline. The cost of
// retransmissions is computed from its arrivals.
type flow struct {
	c    *rule.Context
	pipe rule.Pipe

	kept     keeping
	packets  int            // that arrived
	refilled int            // retransmissions: packets below one that is held
	work     vtime.Duration // sum of the packets' service times without queries
	each     vtime.Duration // service time of the latest packet

	last    vtime.Time     // departure of the previous answer
	coarse  bool           // some answers left at times that do not differ
	heard   int            // answers
	answers int            // answers without a pause before them
	tight   int            // answers directly after the previous one
	span    vtime.Duration // sum of the times between answers
}

func (f *flow) sight(s *rule.Sight) {
	switch p := s.Pkt; {
	case p.Opcode.NumberedApart():
	case s.Point == trace.ResponderOut:
		f.kept.says(p)
		f.answered(s)
	case s.Intact() && f.c.Addressed(s):
		f.arrived(s)
	}
}

func (f *flow) arrived(s *rule.Sight) {
	p := s.Pkt
	f.each = f.pipe.Time(p)
	f.work += f.each
	f.packets++
	if s.Relation != rule.Duplicate && f.kept.beyond(p.PSN) {
		f.refilled++
	}
}

// answered adds the time between two answers: one packet, one packet and its queries, or a pause. Time stamps that are
// equal within their resolution are too coarse for that.
func (f *flow) answered(s *rule.Sight) {
	gap := s.At.Sub(f.last)
	first := f.last == vtime.Never
	f.coarse = f.coarse || s.Together(f.last)
	f.last = s.At
	f.heard++
	switch {
	case first || gap > 3*(f.pipe.Stall()+f.each):
		return // a pause: a timeout, or nothing to send
	case gap <= vtime.Duration(tightSlack*float64(f.each)):
		f.tight++
	}
	f.answers++
	f.span += gap
}

func (f *flow) end(vtime.Time) {
	waits := f.heard < f.packets // retransmissions that are still in the pipeline have cost nothing yet
	if waits || f.coarse || f.packets < leastPackets || f.refilled < leastRefilled ||
		float64(f.tight) < tightShare*float64(f.packets) {
		return
	}
	mean := float64(f.work) / float64(f.packets)
	got := 1 - float64(f.answers)*mean/float64(f.span)
	cost := float64(f.refilled) * float64(f.pipe.Stall())
	want := cost / (float64(f.work) + cost)
	if got < want-tolerance || got > want+tolerance {
		f.c.FailAt(f.last, rule.NoRecord, rule.Responder, percent(got, want))
		return
	}
	f.c.Met()
}

// percent returns the finding about a measured and an expected share.
func percent(got, want float64) string {
	return fmt.Sprintf("the flow lost %.1f %% of its throughput, want %.1f %%, the cost of the queries of its "+
		"retransmissions", 100*got, 100*want)
}
