package rciw

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/stream"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var msnCounts = define(rule.Rule{
	ID: "RCIW-DDP-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "The messages of each untagged queue have consecutive MSNs from 1, and consecutive MOs",
	Source: rule.Source{Ref: "RFC 5041 4.3", Requirement: "The MSN of a queue begins with 1 and grows by one for " +
		"each message; MO is the place of a segment in its message."},
	Needs: rule.TapRequester, Stimulus: "SENDs and READs",
	New: watching(func(w *watch) {
		queues := [iwarp.QueueTerminate + 1]numbering{}
		for i := range queues {
			queues[i].msn = 1
		}
		w.sent = func(u *stream.Unit) {
			s := &u.Segment
			if !whole(u) || s.Tagged || s.QN > iwarp.QueueTerminate {
				return
			}
			w.Met()
			q := &queues[s.QN]
			if s.MSN != q.msn || s.MO != q.mo {
				w.Failf(rule.Requester, "%v has msn=%d mo=%d in queue %d, want msn=%d mo=%d", s.Opcode, s.MSN, s.MO,
					s.QN, q.msn, q.mo)
			}
			q.pass(s)
		}
	}),
})

// numbering is the next MSN and MO of a queue.
type numbering struct{ msn, mo uint32 }

// pass moves past a segment, whatever its numbers, so that one wrong number gives one finding.
func (q *numbering) pass(s *iwarp.Segment) {
	q.msn, q.mo = s.MSN, s.MO+uint32(len(s.Payload))
	if s.Last {
		q.msn, q.mo = s.MSN+1, 0
	}
}

var headOfLine = define(rule.Rule{
	ID: "RCIW-HOL-001", Level: rule.Must,
	Title: "One lost TCP segment delays every later delivery until it is retransmitted",
	Source: rule.Source{Ref: "DIW IV-A", Requirement: "in the case of packet loss, there can be a significant delay in " +
		"delivering data that have already arrived but is blocked by an incomplete message at the head of the receive queue"},
	Needs: rule.Both | rule.Completions, Stimulus: "a lost segment, and later ones that arrive before its retransmission",
	BlackBox: "SIW,HW,ENG",
	New: watching(func(w *watch) {
		var sent sends
		taken := 0 // number of receives that completed
		w.sent = func(u *stream.Unit) { sent.add(u) }
		w.segment = func(s *rule.Sight, a *stream.Arrival) {
			if !s.Out && s.Rec.From == w.Req && a.Ahead && !a.Again {
				w.Met()
			}
		}
		w.told = func(e *trace.Event) {
			if !received(e) {
				return
			}
			end, have := sent.end(taken), w.in.Next(int(w.Req))
			if taken++; w.missing() && end > have {
				w.Failf(rule.Responder, "a receive completes with bytes of the stream up to %d; none beyond byte %d, "+
					"which is missing, expected", end, have)
			}
		}
	}),
})

var writeVisible = define(rule.Rule{
	ID: "RCIW-ORD-001", Level: rule.Must,
	Title: "When a receive completes, every WRITE sent before its SEND is in memory",
	Source: rule.Source{Ref: "RFC 5040 5.5", Requirement: "A WRITE that precedes a SEND on the stream is placed " +
		"before the SEND is delivered, which is how the peer learns of it."},
	Needs: rule.TapResponder | rule.Completions | rule.Stores, Stimulus: "a WRITE and a SEND after it",
	New: watching(func(w *watch) {
		v := visible{watch: w}
		w.arrived, w.told = v.arrived, v.told
	}),
})

// visible compares the bytes that WRITEs carried with the bytes placed.
type visible struct {
	*watch
	owed  []placement // arrived and not placed, oldest first
	wrote bool        // a WRITE arrived since the latest SEND
	sends []send      // arrived SENDs whose receives have not completed
}

// placement is a range of memory that a WRITE segment fills.
type placement struct {
	va uint64
	n  int
	to int64 // end of the segment in the stream
}

// send is a SEND that arrived.
type send struct {
	end   int64 // of its last segment in the stream
	after bool  // a WRITE arrived before it
}

// owedLimit bounds the placements remembered; later ones are not judged.
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

func (v *visible) told(e *trace.Event) {
	switch {
	case e.Kind == trace.Store:
		v.place(e.VA, int(e.Len))
	case received(e) && len(v.sends) > 0:
		s := v.sends[0]
		v.sends = append(v.sends[:0], v.sends[1:]...)
		if len(v.owed) > 0 && v.owed[0].to <= s.end {
			v.Failf(rule.Responder, "a receive completes; %d bytes of a WRITE before it expected at %#x first",
				v.owed[0].n, v.owed[0].va)
			v.owed = v.owed[1:]
		} else if s.after {
			v.Met()
		}
	}
}

// place removes a placement that was made.
func (v *visible) place(va uint64, n int) {
	if i := slices.IndexFunc(v.owed, func(p placement) bool { return p.va == va && p.n == n }); i >= 0 {
		v.owed = slices.Delete(v.owed, i, i+1)
	}
}
