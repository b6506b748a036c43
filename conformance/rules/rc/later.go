package rc

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var laterWriteWins = rule.Rule{
	ID: "RC-ORD-001", Level: rule.Must,
	Title: "Of two WRITEs to the same bytes the later one's data remain after both complete",
	Source: rule.Source{Ref: "GB1 IV-D; IBTA 9.5",
		Requirement: "RDMA WRITEs of a connection take effect in the order in which they were posted."},
	Needs: rule.TapResponder | rule.Checked, Sees: rule.Accepts, Without: rule.PlacesEarly,
	Stimulus: "two WRITEs to one address, the first with a loss", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		o := overwrites{c: c, index: map[uint64]int{}}
		return rule.Check{Sight: o.sight, Event: o.event, End: o.end}
	},
}

// overwrites holds the last WRITE and the last store at every address that a WRITE packet began at.
type overwrites struct {
	c     *rule.Context
	index map[uint64]int // of spots, by address
	spots []spot
}

type spot struct {
	writes       int
	want, stored placement
	at           vtime.Time // of the latest store
}

func (o *overwrites) sight(s *rule.Sight) {
	if !s.Legal || !s.Pkt.Opcode.IsWrite() || s.Pkt.Len == 0 || s.Sum == 0 {
		return
	}
	va := o.c.Place(s.Pkt)
	i, known := o.index[va]
	if !known && len(o.spots) < placementLimit {
		i = len(o.spots)
		o.index[va], o.spots = i, append(o.spots, spot{at: vtime.Never})
		known = true
	}
	if known {
		o.spots[i].writes++
		o.spots[i].want = placement{uint32(s.Pkt.Len), s.Sum}
	}
}

func (o *overwrites) event(e *trace.Event) {
	if wrong, ok := asReceived(o.c, e); ok && !o.c.Offers(rule.Stores) {
		o.found(wrong)
		return
	}
	if e.Kind != trace.Store || o.c.Mine(e) {
		return
	}
	if i, known := o.index[e.VA]; known {
		o.spots[i].stored, o.spots[i].at = placement{e.Len, e.Sum}, e.At
	}
}

// found judges the application's report on bytes that a later WRITE replaced; wrong is the number of wrong bytes.
func (o *overwrites) found(wrong int64) {
	if !slices.ContainsFunc(o.spots, func(x spot) bool { return x.writes > 1 }) {
		return
	}
	if wrong > 0 {
		o.c.Fail(rule.Responder, "the application finds other bytes than the later WRITE's")
		return
	}
	o.c.Met()
}

func (o *overwrites) end(vtime.Time) {
	for _, x := range o.spots {
		if x.writes < 2 || x.at == vtime.Never || x.want.size != x.stored.size || o.c.Fatal {
			continue
		}
		o.c.Met()
		if x.want != x.stored {
			o.c.FailAt(x.at, rule.NoRecord, rule.Responder,
				"an earlier WRITE's data are left over a later one's; the later one's expected")
		}
	}
}

var sendAfterWrite = rule.Rule{
	ID: "RC-ORD-002", Level: rule.Must,
	Title: "The receive completion of a SEND implies that the WRITEs before it are in memory",
	Source: rule.Source{Ref: "IBTA 9.5, o9-20", Requirement: "The data of an RDMA WRITE are in memory before " +
		"the receive completion of a SEND that was posted after it."},
	Needs: rule.TapResponder | rule.Receives | rule.Checked, Sees: rule.Accepts | rule.ResponseOut,
	Stimulus: "a SEND after a WRITE, the WRITE with a loss", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		v := visibility{c: c}
		return rule.Check{Sight: v.sight, Event: v.event}
	},
}

// visibility compares the bytes stored with the bytes accepted when a receive completes.
type visibility struct {
	c        *rule.Context
	accepted uint64 // payload bytes accepted in order
	counted  bool   // next is set
	// end of the accepted PSNs; a packet that was accepted, not kept, and accepted once more counts once
	next     psn.PSN
	stored   uint64 // payload bytes in memory
	wrote    bool   // a WRITE was accepted since the latest receive was consumed
	receives []receive
	found    bool // the application has checked its memory since the latest receive completed, and found it right
}

// receive is an accepted message that consumes a receive.
type receive struct {
	first  psn.PSN // PSN of the packet that consumed the receive
	before uint64  // bytes accepted before that packet
	until  uint64  // bytes accepted when the message ended
	done   bool    // until is known
	after  bool    // a WRITE preceded it
}

func (v *visibility) sight(s *rule.Sight) {
	p := s.Pkt
	if s.Point == trace.ResponderOut {
		if p.AETH.Syndrome.IsRNR() {
			v.refuse(p.PSN)
		}
		return
	}
	if !s.Legal || v.c.Fatal || v.counted && p.PSN.Less(v.next) {
		return
	}
	v.counted, v.next = true, p.PSN.Add(max(1, v.c.Span(p)))
	if p.Opcode.TakesReceive() && len(v.receives) < placementLimit {
		v.receives = append(v.receives, receive{first: p.PSN, before: v.accepted, after: v.wrote})
		v.wrote = false
	}
	v.accepted += uint64(p.Len)
	v.wrote = v.wrote || p.Opcode.IsWrite()
	if n := len(v.receives); n > 0 && p.Opcode.EndsMessage() && !v.receives[n-1].done {
		v.receives[n-1].until, v.receives[n-1].done = v.accepted, true
	}
}

// refuse withdraws the request that an RNR NAK refused, and all later ones.
func (v *visibility) refuse(p psn.PSN) {
	for i, r := range v.receives {
		if p.LessEq(r.first) {
			v.accepted, v.receives, v.wrote, v.next = r.before, v.receives[:i], r.after, r.first
			return
		}
	}
}

func (v *visibility) event(e *trace.Event) {
	wrong, looked := asReceived(v.c, e)
	switch {
	case v.c.Mine(e):
	case looked && wrong > 0:
		v.c.Fail(rule.Responder, "the application finds other bytes than were written, when a receive has completed")
	case looked:
		v.found = true
	case e.Kind == trace.Store:
		v.stored += uint64(e.Len)
	case e.Kind == trace.Recv && e.Body.Status == 0 && len(v.receives) > 0:
		r := v.receives[0]
		v.receives = v.receives[:copy(v.receives, v.receives[1:])]
		stores := v.c.Offers(rule.Stores)
		if stores && r.done && v.stored < r.until {
			v.c.Failf(rule.Responder, "receive wr=%d completes with %d bytes not yet in memory", e.Body.ID, r.until-v.stored)
		} else if r.after && (stores || v.found) {
			v.c.Met()
		}
		v.found = false
	}
}
