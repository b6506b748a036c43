package rc

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var errorIsSilent = rule.Rule{
	ID: "RC-ERR-001", Level: rule.Must,
	Title: "A QP in the error state sends nothing and answers nothing",
	Source: rule.Source{Ref: "IBTA 10.3.1.7", Requirement: "In the error state packets that arrive are silently " +
		"dropped, and no packet is sent."},
	Needs: rule.Both, Sees: rule.Requests | rule.Responses, Minds: rule.Answer,
	Stimulus: "a fatal NAK, and then further requests", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		e := silence{c: c, failed: vtime.Never, ignored: vtime.Never, broken: vtime.Never}
		return rule.Check{Sight: e.sight, Event: e.event, End: e.end}
	},
}

// silence checks that each end of a connection sends nothing after it has failed.
type silence struct {
	c       *rule.Context
	reply   vtime.Time // arrival of the latest response
	failed  vtime.Time // when the requester entered the error state
	ignored vtime.Time // when the first request reached the failed responder
	// when the responder's QP reported its failure; packets that its port held then may still leave
	broken  vtime.Time
	refused bool // the responder has sent a fatal NAK; no packet may follow
}

func (e *silence) sight(s *rule.Sight) {
	e.judge(s)
	e.refused = e.refused || s.Point == trace.ResponderOut && rule.HasAETH(s.Pkt.Opcode) &&
		rule.IsFatal(s.Pkt.AETH.Syndrome)
}

func (e *silence) judge(s *rule.Sight) {
	c := e.c
	if c.Failed && e.failed == vtime.Never {
		e.failed = e.reply // the state changes after a sight, so the previous response was the fatal one
	}
	switch {
	case s.Point == trace.RequesterIn:
		e.reply = s.At
	case s.Point == trace.RequesterOut && e.failed != vtime.Never && !c.Port.Lags(e.failed, s.At):
		c.Failf(rule.Requester, "%v %s is sent in the error state", s.Pkt.Opcode, c.Rel(s.Pkt.PSN))
	case s.Point == trace.ResponderIn && c.Fatal && s.Intact() && e.ignored == vtime.Never:
		e.ignored = s.At
	case s.Point == trace.ResponderOut && c.Fatal && (e.refused || e.broken == vtime.Never ||
		!c.PeerPort.Lags(e.broken, s.At)):
		c.Failf(rule.Responder, "%v %s is sent in the error state", s.Pkt.Opcode, c.Rel(s.Pkt.PSN))
	}
}

func (e *silence) event(x *trace.Event) {
	switch {
	case !rule.Breaks(x):
	case e.c.Mine(x):
		e.failed = min(e.failed, x.At)
	default:
		e.broken = min(e.broken, x.At)
	}
}

func (e *silence) end(at vtime.Time) {
	if e.failed != vtime.Never && !e.c.Port.Lags(e.failed, at) || e.ignored != vtime.Never &&
		!e.c.PeerPort.Lags(e.ignored, at) {
		e.c.Met()
	}
}

var accessError = rule.Rule{
	ID: "RC-ERR-002", Level: rule.Must,
	Title: "A bad R_Key, range or right is answered with NAK 0x62, and nothing of that message is " +
		"written past the violation",
	Source: rule.Source{Ref: "IBTA 9.7.4.1.5, 9.7.5.2.4", Requirement: "A remote access violation is answered with a " +
		"NAK remote access error; the responder does not execute the request."},
	Needs: rule.TapResponder | rule.Changes, Sees: rule.Accepts | rule.ResponseOut,
	Stimulus: "a request with a bad R_Key, range or right", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		var m rule.MemoryMap
		var allowed written
		check := refusing(c, roce.SyndromeRemoteAccess, func(s *rule.Sight) bool {
			return s.Legal && !disabled(c, s.Pkt) && m.Forbids(s.Pkt)
		})
		refuse := check.Sight
		denied := false
		check.Sight = func(s *rule.Sight) {
			refuse(s)
			if s.Point == trace.ResponderIn && s.Legal && !c.Fatal && !m.Forbids(s.Pkt) {
				allowed.add(s.Pkt)
			}
			if s.Point == trace.ResponderOut && s.Pkt.AETH.Syndrome == roce.SyndromeRemoteAccess && !denied {
				denied = true
				c.Met()
			}
		}
		check.Event = func(e *trace.Event) {
			switch {
			case c.Mine(e):
			case e.Kind == trace.Probe:
				m.Probe(e)
			case e.Kind == trace.Store && denied:
				c.Failf(rule.Responder, "%d bytes are written at %#x after NAK 0x62, none expected", e.Len, e.VA)
			case e.Kind == trace.Changed && denied:
				if at, n := allowed.outside(e.VA, e.Len); n > 0 {
					c.Failf(rule.Responder, "%d bytes from %#x on have changed, which no request was allowed to write", n, at)
				}
			}
		}
		return check
	},
}

// disabled reports whether the responder's QP does not allow the operation at all, which RC-OPC-003 judges.
func disabled(c *rule.Context, p *roce.Packet) bool {
	need, ok := rule.AccessOf(p.Opcode)
	return ok && c.Known && c.PeerAttr.Access&need == 0
}

// written is the set of ranges that accepted WRITEs may have changed.
type written struct {
	ranges []extent
	next   uint64 // address of the next packet of the open message
}

// extent is a range of memory.
type extent struct{ from, to uint64 }

// add adds the range of an accepted packet.
func (w *written) add(p *roce.Packet) {
	if !p.Opcode.IsWrite() {
		return
	}
	if p.Opcode.StartsMessage() {
		w.next = p.RETH.VA
	}
	r := extent{w.next, w.next + uint64(p.Len)}
	w.next = r.to
	switch n := len(w.ranges); {
	case n > 0 && w.ranges[n-1].to == r.from:
		w.ranges[n-1].to = r.to
	case n < placementLimit:
		w.ranges = append(w.ranges, r)
	}
}

// outside returns how many bytes of a range lie outside all written ranges, and the first such address.
func (w *written) outside(va uint64, size uint32) (first uint64, n int) {
	for at, end := va, va+uint64(size); at < end; {
		to := at
		for _, r := range w.ranges {
			if r.from <= at && at < r.to {
				to = max(to, r.to)
			}
		}
		if to == at {
			if n++; n == 1 {
				first = at
			}
			to++
		}
		at = to
	}
	return first, n
}
