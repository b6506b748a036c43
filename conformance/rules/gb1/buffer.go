package gb1

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var earlyKept = rule.Rule{
	ID: "GB1-BUF-001", Level: rule.MustNot,
	Title: "Early packets within max_ooo_psn are not discarded: none has to be sent again",
	Source: rule.Source{Ref: "GB1 IV-B", Requirement: "At this time the receiver does not take the operation of " +
		"directly discarding the out-of-order packet, but cached in its own buffer."},
	Needs: rule.TapResponder | rule.Attributes, Sees: rule.Accepts | rule.ResponseOut, Features: features,
	Stimulus: "a lost request followed by others", BlackBox: engines,
	New: func(c *rule.Context) rule.Check {
		k := keeping{c: c, arrivals: arrivals{c: c}, ack: c.Owes(rule.Responder,
			"the packets kept up to %s are not acknowledged, although nothing before them is missing")}
		k.ack.Prompt = true
		return rule.Check{Sight: k.sight, End: k.arrivals.end}
	},
}

// keeping tracks a run of kept packets until the responder acknowledges it.
type keeping struct {
	c        *rule.Context
	arrivals arrivals
	ack      *rule.Obligation // of the run that the latest gap released, up to its newest packet
	from     psn.PSN          // oldest PSN of the run
}

func (k *keeping) sight(s *rule.Sight) {
	c, p := k.c, s.Pkt
	k.arrivals.settle(s.At)
	switch {
	case p.Opcode.IsRead() || p.Opcode.IsAtomic() || c.OutstandingReads() > 0:
		k.ack.Excuse(nil) // the response is data, before which nothing is acknowledged
		k.arrivals.early(s)
	case s.Relation == rule.Released && s.Legal:
		if !k.ack.Owed() {
			k.ack.Arise(s, p.PSN)
			k.from = p.PSN
		}
		k.ack.Oldest().PSN = p.PSN
	case s.Point == trace.ResponderIn:
		k.arrivals.early(s)
	case p.AETH.Syndrome.IsRNR():
		k.arrivals.refuse(p)
		k.answer(s)
	case isRACK(p):
		// A RACK holds the PSN expected when its packet arrived, perhaps before the run was released.
		x, ok := k.arrivals.named(p)
		if run := k.ack.Oldest(); run != nil && p.PSN.In(k.from, run.PSN.Next()) && (!ok && !k.arrivals.excused(p) ||
			ok && p.PSN.Less(x.expected)) {
			k.arrivals.doubted(s, c.Rel(p.PSN)+" is asked for again, although it had arrived")
			k.ack.Excuse(nil)
		}
	default:
		k.answer(s)
	}
}

func (k *keeping) answer(s *rule.Sight) {
	last, ok := rule.Acknowledged(s.Pkt)
	if ok && s.Pkt.AETH.Syndrome.IsRNR() {
		// Refused for want of a receive, which other rules judge.
		k.ack.Excuse(func(d rule.Debt) bool { return s.Pkt.PSN.LessEq(d.PSN) })
	}
	k.ack.Discharge(func(d rule.Debt) bool { return ok && d.PSN.LessEq(last) })
}

var tooEarlyDropped = rule.Rule{
	ID: "GB1-BUF-002", Level: rule.Must,
	Title: "A packet that is max_ooo_psn or more ahead is dropped without a RACK",
	Source: rule.Source{Ref: "GB1 IV-D", Requirement: "The array needs to be set an upper limit to prevent " +
		"unrestricted buffer allocation."},
	Needs: rule.TapResponder | rule.Attributes, Sees: rule.RequestIn | rule.ResponseOut, Features: features,
	Stimulus: "a lost request followed by more than max_ooo_psn", BlackBox: engines,
	New: func(c *rule.Context) rule.Check {
		var far []arrival
		return rule.Check{Sight: func(s *rule.Sight) {
			p := s.Pkt
			if s.Point == trace.ResponderIn {
				switch ahead := p.PSN.Sub(c.EPSN); {
				case ahead < reach(c): // it may have arrived before, out of reach
					far = slices.DeleteFunc(far, func(x arrival) bool { return x.psn == p.PSN })
				case s.Relation == rule.Ahead:
					c.Met()
					far = append(far[max(0, len(far)+1-mostFar):], arrival{psn: p.PSN, expected: c.EPSN, at: s.At, record: s.Index})
				}
				return
			}
			for _, x := range far {
				if isRACK(p) && x.psn == p.SACK.PSN {
					c.Failf(rule.Responder, "RACK of %s, which is %d ahead and out of reach", c.Rel(x.psn), x.psn.Sub(x.expected))
					return
				}
			}
		}}
	},
}

// mostFar bounds the packets out of reach that are remembered.
const mostFar = 256

var runAcknowledged = rule.Rule{
	ID: "GB1-BUF-003", Level: rule.Must,
	Title: "When the expected packet comes, the responder moves over the run that it has kept and acknowledges its end",
	Source: rule.Source{Ref: "GB1 IV-C1", Requirement: "If the values are equal, the function updates " +
		"ReceiverNextExpectedSeq with the expected sequence number and data packet, …, returning the signal " +
		"value generating a normal ACK."},
	Needs: rule.TapResponder | rule.Attributes, Sees: rule.Accepts | rule.ResponseOut, Features: features,
	Stimulus: "a lost request that is sent again", BlackBox: engines,
	New: func(c *rule.Context) rule.Check {
		r := run{c: c, ack: c.Owes(rule.Responder, "no ACK of %s, where the run that was kept ends")}
		r.ack.Prompt = true
		return rule.Check{Sight: r.sight, End: func(vtime.Time) {
			if r.short {
				r.stopped(c.Fatal)
			}
		}}
	},
}

// run tracks the packet that fills a gap, and the kept packets behind it.
type run struct {
	c      *rule.Context
	ack    *rule.Obligation // of the end of the run
	fill   rule.Debt        // the debt, which begins at the expected packet
	from   psn.PSN          // PSN of the expected packet
	filled bool             // it arrived while others were kept
	whole  bool             // the next packet in order arrived, so the run is complete

	short bool    // an ACK stopped inside the run, which is right if the next packet is refused
	said  arrival // that ACK, and the end of the run
}

func (r *run) sight(s *rule.Sight) {
	c, p := r.c, s.Pkt
	if s.Point == trace.ResponderOut && r.short {
		r.stopped(p.AETH.Syndrome.IsRNR() || rule.IsFatal(p.AETH.Syndrome))
	}
	switch {
	case s.Relation == rule.Released && r.whole:
	case s.Relation == rule.Released:
		r.ack.Excuse(nil)
		if p.Opcode.IsRead() || p.Opcode.IsAtomic() {
			r.filled = false // READ data or an atomic result answers
		} else if s.Legal && r.filled {
			r.fill.PSN = p.PSN.Add(max(1, c.Span(p)) - 1)
			r.ack.Owe(r.fill)
		}
	case s.Point == trace.ResponderIn:
		if r.ack.Owed() {
			r.whole = true
		} else if s.Relation == rule.InOrder && s.Legal {
			r.filled, r.whole = c.Held > 0, false
			r.fill, r.from = rule.Debt{At: s.At, Since: s.At, Index: s.Index}, p.PSN
		}
	case c.Fatal || p.Opcode.IsReadResponse() || p.AETH.Syndrome.IsRNR():
		r.filled = false
		r.ack.Excuse(nil)
	case r.ack.Owed() && rule.IsACK(p) && r.from.LessEq(p.PSN):
		end := r.ack.Oldest().PSN
		r.filled = false
		r.ack.Excuse(nil)
		switch {
		case !p.PSN.Less(end):
			c.Met()
		case !rule.Refusable(c.Conversation, p.PSN.Next()):
			r.short, r.said = true, arrival{psn: p.PSN, expected: end, at: s.At, record: s.Index}
		}
	}
}

// stopped judges an ACK that stopped inside the run by the response after it.
func (r *run) stopped(refused bool) {
	r.short = false
	if x := r.said; !refused {
		r.c.FailAt(x.at, x.record, rule.Responder, "ACK of "+r.c.Rel(x.psn)+", the run that was kept ends at "+
			r.c.Rel(x.expected))
	}
}

var memoryInOrder = rule.Rule{
	ID: "GB1-BUF-004", Level: rule.Must,
	Title: "A kept packet is placed in memory only at its turn",
	Source: rule.Source{Ref: "GB1 IV-C1", Requirement: "In order to solve the problem of not caching out-of-order " +
		"packages but writing them directly to user memory, we need to consider the problem of WQE matching …"},
	Needs: rule.TapResponder | rule.Stores, Sees: rule.Accepts, Features: features,
	Stimulus: "a lost request followed by others", BlackBox: engines,
	New: func(c *rule.Context) rule.Check {
		var placed rule.Placed
		return rule.Check{
			Sight: func(s *rule.Sight) {
				if s.Legal {
					placed.Due(s)
				}
				switch p := s.Pkt; {
				case s.Relation == rule.Ahead && s.Kept && rule.IsData(p.Opcode):
					placed.Early(s)
				case s.Relation == rule.Released && s.Legal && p.Len > 0:
					c.Met()
				}
			},
			Event: func(e *trace.Event) {
				if e.Kind != trace.Store || c.Mine(e) {
					return
				}
				if p, ok := placed.TooSoon(e, c.EPSN); ok {
					c.Failf(rule.Responder, "the payload of %s is placed while %s is missing", c.Rel(p), c.Rel(c.EPSN))
				}
			},
		}
	},
}
