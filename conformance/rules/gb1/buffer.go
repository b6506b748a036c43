package gb1

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func earlyKept() rule.Rule {
	return rule.Rule{
		ID: "GB1-BUF-001", Level: rule.MustNot,
		Title: "Early packets within max_ooo_psn are not discarded: none has to be sent again",
		Source: rule.Source{Ref: "GB1 IV-B", Requirement: "At this time the receiver does not take the operation of directly discarding the " +
			"out-of-order packet, but cached in its own buffer."},
		Needs: rule.TapResponder, Sees: rule.Accepts | rule.ResponseOut, Features: features,
		Stimulus: "a lost request followed by others", BlackBox: engines,
		New: func(c *rule.Context) rule.Check {
			k := keeping{c: c, arrivals: arrivals{c: c}, answers: answers{c: c}}
			return rule.Check{Sight: k.sight, End: func(at vtime.Time) { k.overdue(at); k.arrivals.end(at) }}
		},
	}
}

// keeping follows a run of kept packets until the responder acknowledges it.
type keeping struct {
	c        *rule.Context
	arrivals arrivals
	answers  answers
	open     bool
	from, to psn.PSN // the run that the latest gap let go
	at       vtime.Time
	record   uint64
}

func (k *keeping) sight(s *rule.Sight) {
	c, p := k.c, s.Pkt
	k.overdue(s.At)
	k.answers.sight(s)
	switch {
	case p.Opcode.IsRead() || p.Opcode.IsAtomic() || c.OutstandingReads() > 0:
		k.open = false // answered with data, before which nothing is acknowledged
		k.arrivals.early(s)
	case s.Relation == rule.Released && s.Legal:
		if !k.open {
			k.open, k.from, k.at, k.record = true, p.PSN, s.At, s.Index
		}
		k.to = p.PSN
	case s.Point == trace.ResponderIn:
		k.arrivals.early(s)
	case c.Fatal:
		k.open = false
	case p.AETH.Syndrome.IsRNR():
		k.arrivals.refuse(p)
		k.answer(s)
	case isRACK(p):
		// A RACK says what was expected when its packet came, which may have been before the run was let go.
		if x, ok := k.arrivals.named(p); k.open && p.PSN.In(k.from, k.to.Next()) && (!ok && !k.arrivals.excused(p) || ok && p.PSN.Less(x.expected)) {
			k.arrivals.doubted(s, c.Rel(p.PSN)+" is asked for again, although it had come")
			k.open = false
		}
	default:
		k.answer(s)
	}
}

func (k *keeping) answer(s *rule.Sight) {
	last, ok := rule.Acknowledged(s.Pkt)
	if k.open && ok && s.Pkt.AETH.Syndrome.IsRNR() && !k.to.Less(s.Pkt.PSN) {
		k.open = false // refused for want of a receive, which is another matter
	}
	if k.open && ok && !last.Less(k.to) {
		k.open = false
		k.c.Met()
	}
}

// overdue judges a run that is not acknowledged.
func (k *keeping) overdue(now vtime.Time) {
	k.arrivals.settle(now)
	if k.open && k.answers.overdue(k.at, now) && !k.c.Fatal {
		k.open = false
		k.c.FailAt(k.at, k.record, rule.Responder, "what came early from "+k.c.Rel(k.from)+" to "+k.c.Rel(k.to)+
			" is not acknowledged, although nothing before it is missing")
	}
}

func tooEarlyDropped() rule.Rule {
	return rule.Rule{
		ID: "GB1-BUF-002", Level: rule.Must,
		Title: "A packet max_ooo_psn or more ahead is dropped without a RACK",
		Source: rule.Source{Ref: "GB1 IV-D", Requirement: "The array needs to be set an upper limit to prevent unrestricted buffer " +
			"allocation."},
		Needs: rule.TapResponder | rule.Attributes, Sees: rule.RequestIn | rule.ResponseOut, Features: features,
		Stimulus: "a lost request followed by more than max_ooo_psn", BlackBox: engines,
		New: func(c *rule.Context) rule.Check {
			var far []arrival
			return rule.Check{Sight: func(s *rule.Sight) {
				p := s.Pkt
				if s.Point == trace.ResponderIn {
					switch ahead := p.PSN.Sub(c.EPSN); {
					case ahead < reach(c): // it may have come before, out of reach
						far = slices.DeleteFunc(far, func(x arrival) bool { return x.psn == p.PSN })
					case s.Relation == rule.Ahead:
						c.Met()
						far = append(far[max(0, len(far)+1-mostFar):], arrival{p.PSN, c.EPSN, s.At, s.Index})
					}
					return
				}
				for _, x := range far {
					if isRACK(p) && x.psn == p.SACK.PSN {
						c.Failf(rule.Responder, "RACK of %s, which is %d ahead and beyond what is kept", c.Rel(x.psn), x.psn.Sub(x.expected))
						return
					}
				}
			}}
		},
	}
}

// mostFar bounds the packets out of reach that are remembered.
const mostFar = 256

func runAcknowledged() rule.Rule {
	return rule.Rule{
		ID: "GB1-BUF-003", Level: rule.Must,
		Title: "When the expected packet comes, the responder moves over the run that it has kept and acknowledges its end",
		Source: rule.Source{Ref: "GB1 IV-C1", Requirement: "If the values are equal, the function updates ReceiverNextExpectedSeq with the expected " +
			"sequence number and data packet, …, returning the signal value generating a normal ACK."},
		Needs: rule.TapResponder, Sees: rule.Accepts | rule.ResponseOut, Features: features,
		Stimulus: "a lost request that is sent again", BlackBox: engines,
		New: func(c *rule.Context) rule.Check {
			r := run{c: c, answers: answers{c: c}}
			return rule.Check{Sight: r.sight, End: func(at vtime.Time) {
				if r.overdue(at); r.short {
					r.stopped(c.Fatal)
				}
			}}
		},
	}
}

// run follows the packet that fills a gap, and what waited for it.
type run struct {
	c         *rule.Context
	answers   answers
	fill, end psn.PSN
	filled    bool // the expected packet came with others kept
	released  bool // some of them went with it
	whole     bool // the next packet in order has come, so the run does not go on
	at        vtime.Time
	record    uint64

	short bool // an ACK stopped inside the run, which is right when what follows it is refused next
	said  arrival
}

func (r *run) sight(s *rule.Sight) {
	c, p := r.c, s.Pkt
	r.overdue(s.At)
	r.answers.sight(s)
	if s.Point == trace.ResponderOut && r.short {
		r.stopped(p.AETH.Syndrome.IsRNR() || rule.IsFatal(p.AETH.Syndrome))
	}
	switch {
	case s.Relation == rule.Released && r.whole:
	case s.Relation == rule.Released:
		r.released = s.Legal && r.filled
		r.end = p.PSN.Add(max(1, c.Span(p)) - 1)
		if p.Opcode.IsRead() || p.Opcode.IsAtomic() {
			r.filled, r.released = false, false // its data answer
		}
	case s.Point == trace.ResponderIn:
		if r.released {
			r.whole = true
		} else if s.Relation == rule.InOrder && s.Legal {
			r.filled, r.released, r.whole = c.Held > 0, false, false
			r.fill, r.at, r.record = p.PSN, s.At, s.Index
		}
	case c.Fatal || p.Opcode.IsReadResponse() || p.AETH.Syndrome.IsRNR():
		r.filled, r.released = false, false
	case r.released && rule.IsACK(p) && r.fill.LessEq(p.PSN):
		r.filled, r.released = false, false
		switch {
		case !p.PSN.Less(r.end):
			c.Met()
		case !refusable(c, p.PSN.Next()):
			r.short, r.said = true, arrival{p.PSN, r.end, s.At, s.Index}
		}
	}
}

// stopped judges an ACK that stopped inside the run by the response after it.
func (r *run) stopped(refused bool) {
	r.short = false
	if x := r.said; !refused {
		r.c.FailAt(x.at, x.record, rule.Responder, "ACK of "+r.c.Rel(x.psn)+", the run that was kept ends at "+r.c.Rel(x.expected))
	}
}

// overdue judges a run that is not answered.
func (r *run) overdue(now vtime.Time) {
	if r.released && r.answers.overdue(r.at, now) && !r.c.Fatal {
		r.c.FailAt(r.at, r.record, rule.Responder, "no ACK of "+r.c.Rel(r.end)+", where the run that was kept ends")
		r.filled, r.released = false, false
	}
}

func memoryInOrder() rule.Rule {
	return rule.Rule{
		ID: "GB1-BUF-004", Level: rule.Must,
		Title: "What is kept reaches memory only when its turn has come",
		Source: rule.Source{Ref: "GB1 IV-C1", Requirement: "In order to solve the problem of not caching out-of-order packages but writing them directly " +
			"to user memory, we need to consider the problem of WQE matching …"},
		Needs: rule.TapResponder | rule.Stores, Sees: rule.Accepts, Features: features,
		Stimulus: "a lost request followed by others", BlackBox: engines,
		New: func(c *rule.Context) rule.Check {
			var kept [256]payload
			var due []payload // in its turn, not placed yet: its bytes may be those of one that is kept
			n := 0
			return rule.Check{
				Sight: func(s *rule.Sight) {
					p := s.Pkt
					if s.Legal && p.Len > 0 {
						due = append(due[max(0, len(due)+1-mostDue):], payload{p.PSN, p.Len, s.Sum})
					}
					switch {
					case s.Relation == rule.Ahead && s.Kept && rule.IsData(p.Opcode):
						kept[n%len(kept)] = payload{p.PSN, p.Len, s.Sum}
						n++
					case s.Relation == rule.Released && s.Legal && p.Len > 0:
						c.Met()
					}
				},
				// A placement shows its bytes and not its PSN.
				Event: func(e *trace.Event) {
					if e.Kind != trace.Store || c.Mine(e) || e.Sum == 0 || e.Len < telling {
						return
					}
					if i := slices.IndexFunc(due, func(d payload) bool { return d.sum == e.Sum && d.len == int(e.Len) }); i >= 0 {
						due = slices.Delete(due, i, i+1)
						return
					}
					for _, k := range kept[:min(n, len(kept))] {
						if k.sum == e.Sum && k.len == int(e.Len) && !k.psn.Less(c.EPSN) {
							c.Failf(rule.Responder, "the payload of %s is placed while %s is missing", c.Rel(k.psn), c.Rel(c.EPSN))
							return
						}
					}
				},
			}
		},
	}
}

// mostDue is more than any run that a gap lets go: one that is forgotten may look like a packet of another message with its bytes.
const mostDue = 1 << 16

// telling is the least length of a payload that is not equal to another by chance.
const telling = 16

// payload identifies the bytes of a packet.
type payload struct {
	psn psn.PSN
	len int
	sum uint32
}
