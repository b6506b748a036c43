package rciw

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/stream"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/tcp"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// watch reads a connection for a check: the stream that the requester of the half-conversation sends and the peer
// receives, and the peer's own stream. A nil hook is not called.
type watch struct {
	*rule.Context
	out, in  stream.Conn                            // the streams as sent, and as they arrive
	sent     func(u *stream.Unit)                   // a unit left the requester
	arrived  func(u *stream.Unit)                   // a unit reached the peer
	answered func(u *stream.Unit)                   // a unit left the peer
	segment  func(s *rule.Sight, a *stream.Arrival) // a TCP segment was seen
	told     func(e *trace.Event)                   // an event of the peer

	now   *rule.Sight // the packet being read
	ended bool        // the peer has ended its direction with FIN or RST
}

// watching makes the check of a rule, which sets the hooks that it needs.
func watching(begin func(w *watch)) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		w := &watch{Context: c}
		w.out.On = func(dir int, u *stream.Unit) {
			if trace.Side(dir) == c.Req {
				call(w.sent, u)
			} else {
				call(w.answered, u)
			}
		}
		w.in.On = func(dir int, u *stream.Unit) {
			if trace.Side(dir) == c.Req {
				call(w.arrived, u)
			}
		}
		begin(w)
		check := rule.Check{Sight: w.sight}
		if w.told != nil {
			check.Event = w.event
		}
		return check
	}
}

// owes returns the obligation of the peer; its finding is missing.
func (w *watch) owes(missing string, unless func() bool) *rule.Obligation {
	o := w.Owes(rule.Responder, missing)
	o.Patience, o.Unless = rule.HostPatience, func(rule.Debt) bool { return unless() }
	return o
}

// event processes the events of the peer.
func (w *watch) event(e *trace.Event) {
	if !w.Mine(e) {
		w.told(e)
	}
}

// received reports whether e is the completion of a receive without an error.
func received(e *trace.Event) bool {
	return e.Kind == trace.Recv && e.Body.Status == engine.StatusSuccess
}

func call(f func(*stream.Unit), u *stream.Unit) {
	if f != nil {
		f(u)
	}
}

// sight processes a packet where it leaves, and where it arrives if its receiver can use it. Where an end has no tap,
// its stream is read at the other end's port, and so is the start-up frame of the peer, which says how FPDUs reach it.
func (w *watch) sight(s *rule.Sight) {
	if s.Pkt.Opcode != roce.TCP {
		return
	}
	w.now = s
	from := s.Rec.From & 1
	conn := &w.in
	if s.Out {
		conn = &w.out
	} else if !s.Intact() {
		return
	}
	a, ok := conn.Add(int(from), s.Pkt.Payload)
	if !ok {
		return
	}
	switch {
	case !s.Out && !w.tapped(from):
		w.out.Add(int(from), s.Pkt.Payload)
	case s.Out && from != w.Req && !w.tapped(w.Req):
		w.in.Add(int(from), s.Pkt.Payload)
	}
	w.ended = w.ended || s.Out && from != w.Req && a.Header.Flags&(tcp.FIN|tcp.RST) != 0
	if w.segment != nil {
		w.segment(s, &a)
	}
}

// tapped reports whether the packets of a side were captured at its own port.
func (w *watch) tapped(side trace.Side) bool {
	if side == w.Req {
		return w.Offers(rule.TapRequester)
	}
	return w.Offers(rule.TapResponder)
}

// missing reports a hole in the bytes that the peer has received.
func (w *watch) missing() bool { return w.in.Next(int(w.Req)) < w.in.High(int(w.Req)) }

// sends counts the SENDs whose last segment was seen in a direction, with their ends in the stream.
type sends struct {
	ends  []int64
	first int // number of the SEND at ends[0]
}

// sendLimit bounds the SENDs remembered.
const sendLimit = 1 << 16

// add counts the SEND that a unit ends, if any.
func (l *sends) add(u *stream.Unit) bool {
	if !whole(u) || !u.Segment.Opcode.IsSend() || !u.Segment.Last {
		return false
	}
	if len(l.ends) == sendLimit {
		l.ends, l.first = append(l.ends[:0], l.ends[sendLimit/2:]...), l.first+sendLimit/2
	}
	l.ends = append(l.ends, u.To)
	return true
}

// end returns the end of the n-th SEND in the stream; -1 when it was not seen.
func (l *sends) end(n int) int64 {
	if n -= l.first; n < 0 || n >= len(l.ends) {
		return -1
	}
	return l.ends[n]
}

// count returns the number of SENDs.
func (l *sends) count() int { return l.first + len(l.ends) }

// whole reports whether a unit is an FPDU with a segment that decodes.
func whole(u *stream.Unit) bool { return u.FPDU != nil && u.Err == nil }

// terminate returns the body of a Terminate.
func terminate(u *stream.Unit) (t iwarp.TerminateBody, ok bool) {
	if !whole(u) || u.Segment.Opcode != iwarp.Terminate {
		return t, false
	}
	return t, t.Decode(u.Segment.Payload) == nil
}
