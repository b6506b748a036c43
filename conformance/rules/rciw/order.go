package rciw

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/stream"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var msnCounts = define(rule.Rule{
	ID: "RCIW-DDP-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "The messages of each untagged queue are numbered from 1, one by one, and their segments follow each other",
	Source: rule.Source{Ref: "RFC 5041 4.3", Requirement: "The MSN of a queue begins with 1 and grows by one for each message; MO is the place of a segment in its " +
		"message."},
	Needs: rule.TapRequester, Stimulus: "SENDs and READs",
	New: func(c *rule.Context) rule.Check {
		w := newWatch(c)
		queues := map[uint32]*numbering{}
		w.sent = func(u *stream.Unit) {
			if !whole(u) || u.Segment.Tagged || u.Segment.QN > iwarp.QueueTerminate {
				return
			}
			q := queues[u.Segment.QN]
			if q == nil {
				q = &numbering{msn: 1}
				queues[u.Segment.QN] = q
			}
			c.Met()
			if s := &u.Segment; s.MSN != q.msn || s.MO != q.mo {
				c.Failf(rule.Requester, "%v has msn=%d mo=%d in queue %d, want msn=%d mo=%d", s.Opcode, s.MSN, s.MO, s.QN, q.msn, q.mo)
			}
			q.pass(&u.Segment)
		}
		return rule.Check{Sight: w.sight}
	},
})

// numbering is what comes next in a queue.
type numbering struct{ msn, mo uint32 }

// pass goes on from a segment as it is, so that one wrong number is found once.
func (q *numbering) pass(s *iwarp.Segment) {
	q.msn, q.mo = s.MSN, s.MO+uint32(len(s.Payload))
	if s.Last {
		q.msn, q.mo = s.MSN+1, 0
	}
}

var headOfLine = define(rule.Rule{
	ID: "RCIW-HOL-001", Level: rule.Must,
	Title: "One lost TCP segment delays every later delivery until it has come again",
	Source: rule.Source{Ref: "DIW IV-A", Requirement: "in the case of packet loss, there can be a significant delay in delivering data that have already arrived but " +
		"is blocked by an incomplete message at the head of the receive queue"},
	Needs: rule.Both | rule.Completions, Stimulus: "a lost segment, and later ones that arrive before it comes again", BlackBox: "SIW,HW,ENG",
	New: func(c *rule.Context) rule.Check {
		w := newWatch(c)
		var sent sends
		taken := 0
		w.sent = func(u *stream.Unit) { sent.add(u) }
		w.segment = func(s *rule.Sight, a *stream.Arrival) {
			if !s.Out && s.Rec.From == c.Req && a.Ahead && !a.Again {
				c.Met()
			}
		}
		return rule.Check{Sight: w.sight, Event: func(e *trace.Event) {
			if c.Mine(e) || e.Kind != trace.Recv || e.Body.Status != engine.StatusSuccess {
				return
			}
			end, have := sent.end(taken), w.in.Next(int(c.Req))
			if taken++; w.missing() && end > have {
				c.Failf(rule.Responder, "a receive completes with bytes of the stream up to %d; none beyond byte %d expected, which is missing", end, have)
			}
		}}
	},
})

var writeVisible = define(rule.Rule{
	ID: "RCIW-ORD-001", Level: rule.Must,
	Title: "When a receive completes, every WRITE that was sent before its SEND is in memory",
	Source: rule.Source{Ref: "RFC 5040 5.5", Requirement: "A WRITE that precedes a SEND on the stream is placed before the SEND is delivered, which is how the peer learns " +
		"of it."},
	Needs: rule.TapResponder | rule.Completions | rule.Stores, Stimulus: "a WRITE and a SEND after it",
	New: func(c *rule.Context) rule.Check {
		v := visible{c: c, w: newWatch(c)}
		v.w.arrived = v.arrived
		return rule.Check{Sight: v.w.sight, Event: v.event}
	},
})

// visible holds what WRITEs brought against what was placed.
type visible struct {
	c     *rule.Context
	w     *watch
	owed  []placement // arrived and not placed, oldest first
	wrote bool        // a WRITE came since the last SEND
	sends []send      // arrived, their receives have not completed
}

// placement is a range of memory that a WRITE fills.
type placement struct {
	va uint64
	n  int
	to int64 // where its segment ends in the stream
}

// send is a SEND that has arrived.
type send struct {
	end   int64
	after bool // a WRITE came before it
}

// owedLimit bounds the placements that are remembered; an endpoint that owes more places nothing.
const owedLimit = 1 << 16

func (v *visible) arrived(u *stream.Unit) {
	if !whole(u) {
		return
	}
	switch s := &u.Segment; {
	case s.Opcode == iwarp.Write && len(s.Payload) > 0:
		v.wrote = true
		if len(v.owed) < owedLimit {
			v.owed = append(v.owed, placement{s.TO, len(s.Payload), u.To})
		}
	case s.Opcode.IsSend() && s.Last:
		v.sends = append(v.sends, send{u.To, v.wrote})
		v.wrote = false
	}
}

func (v *visible) event(e *trace.Event) {
	c := v.c
	switch {
	case c.Mine(e):
	case e.Kind == trace.Store:
		v.place(e.VA, int(e.Len))
	case e.Kind == trace.Recv && e.Body.Status == engine.StatusSuccess && len(v.sends) > 0:
		s := v.sends[0]
		v.sends = append(v.sends[:0], v.sends[1:]...)
		if len(v.owed) > 0 && v.owed[0].to <= s.end {
			c.Failf(rule.Responder, "a receive completes; %d bytes of a WRITE before it expected at %#x first", v.owed[0].n, v.owed[0].va)
			v.owed = v.owed[1:]
		} else if s.after {
			c.Met()
		}
	}
}

// place takes note of a placement.
func (v *visible) place(va uint64, n int) {
	for i := range v.owed {
		if v.owed[i].va == va && v.owed[i].n == n {
			v.owed = append(v.owed[:i], v.owed[i+1:]...)
			return
		}
	}
}
