package rc

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// asReceived returns how many bytes an application found wrong when a receive had completed; ok is false for other events.
func asReceived(c *rule.Context, e *trace.Event) (wrong int64, ok bool) {
	return e.Value, e.Kind == trace.Memory && e.Name == "received" && !c.Mine(e)
}

// placementLimit bounds the placements that a check remembers; beyond it the oldest are forgotten all at once.
const placementLimit = 1 << 16

func psnIdempotent() rule.Rule {
	return rule.Rule{
		ID: "RC-PSN-006", Level: rule.Must,
		Title: "A duplicate request leaves the responder's memory as its first execution left it",
		Source: rule.Source{Ref: "IBTA 9.7.5.1.2", Requirement: "A duplicate SEND, WRITE or atomic request is acknowledged and " +
			"not executed again."},
		Needs: rule.TapResponder | rule.Checked, Sees: rule.RequestIn | rule.ResponseOut, Stimulus: "a duplicate request, or a lost acknowledgement", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			if !c.Offers(rule.Stores) {
				return duplicatesFound(c)
			}
			p := placements{c: c, last: map[uint64]placement{}}
			return rule.Check{Sight: p.sight, Event: p.event}
		},
	}
}

// duplicatesFound waits for what the application finds after a WRITE has come again.
func duplicatesFound(c *rule.Context) rule.Check {
	duplicate := false
	return rule.Check{
		Sight: func(s *rule.Sight) {
			duplicate = duplicate || s.Point == trace.ResponderIn && s.Relation == rule.Duplicate && s.Pkt.Opcode.IsWrite() && s.Pkt.Len > 0
		},
		Event: func(e *trace.Event) {
			wrong, ok := asReceived(c, e)
			switch {
			case !ok || !duplicate:
				return
			case wrong > 0:
				c.Fail(rule.Responder, "the application finds other bytes than were written first; a WRITE came again")
			default:
				c.Met()
			}
			duplicate = false
		},
	}
}

// placements attributes every store of a responder to a request that arrived in order, as long as one is owed. A side
// that also reads stores READ data; when it declares its regions, what lies outside them is not looked at, and SENDs,
// whose data go to receive buffers, are left to RC-CQE-005.
type placements struct {
	c         *rule.Context
	regions   rule.MemoryMap
	owed      int  // payloads accepted in order and not yet stored
	kept      int  // payloads accepted early; each is stored at once or when its turn comes
	duplicate bool // the latest request that writes was a duplicate
	last      map[uint64]placement
}

// placement is what was written at an address.
type placement struct{ size, sum uint32 }

func (p *placements) sight(s *rule.Sight) {
	o := s.Pkt.Opcode
	switch {
	case s.Point == trace.ResponderOut:
		if s.Pkt.AETH.Syndrome.IsRNR() {
			p.owed = 0 // what was refused is not stored; what is kept behind it may be, later
		}
	case s.Pkt.Len == 0 && !o.IsAtomic(), o.IsSend() && p.regions.Known():
	case s.Relation == rule.Duplicate:
		p.duplicate = true
		p.c.Met()
	default:
		// What is kept may be stored at once or when its turn comes; what comes again while it is kept, never.
		p.duplicate = s.Relation == rule.Ahead && !s.Kept && p.c.Keeps()
		switch {
		case s.Kept:
			p.kept++
		case s.Legal:
			p.owed++
		}
	}
}

func (p *placements) event(e *trace.Event) {
	if p.c.Mine(e) {
		return
	}
	if e.Kind == trace.Probe {
		p.regions.Probe(e)
	}
	if e.Kind != trace.Store || p.regions.Known() && !p.regions.Holds(e.VA) {
		return
	}
	now := placement{e.Len, e.Sum}
	switch {
	case p.owed > 0:
		p.owed--
	case p.kept > 0:
		p.kept--
	case p.duplicate && p.last[e.VA] != now:
		p.c.Failf(rule.Responder, "a duplicate writes %d bytes at %#x that were not there; it has to change nothing", e.Len, e.VA)
	}
	if len(p.last) == placementLimit {
		clear(p.last)
	}
	p.last[e.VA] = now
}

func memoryEqual() rule.Rule {
	return rule.Rule{
		ID: "RC-MEM-001", Level: rule.Must,
		Title: "After success the target range equals the source, and bytes outside it are untouched",
		Source: rule.Source{Ref: "IBTA 9.4, 9.7", Requirement: "The reliable service delivers every message exactly once, in order " +
			"and without error."},
		Needs: rule.Image, Sees: rule.Requests, Stimulus: "mixed operations under random loss", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			reads := false // READ data go to the requester's memory
			twice := rewrites{c: c}
			return rule.Check{
				Sight: func(s *rule.Sight) { reads = reads || s.Pkt.Opcode.IsRead() || s.Pkt.Opcode.IsAtomic() },
				Event: func(e *trace.Event) {
					twice.event(e)
					if e.Kind != trace.Memory || c.Mine(e) && !reads {
						return
					}
					failed := c.Failed || c.Fatal
					switch {
					case e.Value > 0 && e.Name == "received":
						c.Fail(rule.Responder, "the application finds other bytes than were written")
					case e.Value > 0 && e.Name == "guard":
						c.Failf(rule.Responder, "%d bytes outside the target ranges changed, none expected to", e.Value)
					case e.Value > 0 && e.Name == "mismatch" && twice.found:
					case e.Value > 0 && e.Name == "mismatch" && !failed:
						c.Failf(rule.Responder, "%d bytes differ from the source, none expected to", e.Value)
					case !failed:
						c.Met()
					}
				},
			}
		},
	}
}

// rewrites finds WRITEs to bytes of another one that was not complete when they were posted: of a responder that places
// what comes early nobody can say what those bytes are in the end.
type rewrites struct {
	c     *rule.Context
	open  []span
	found bool
}

// span is the range of a WRITE that is not complete.
type span struct {
	id, va, end uint64
}

// openLimit bounds the WRITEs that are compared with a new one.
const openLimit = 1024

func (r *rewrites) event(e *trace.Event) {
	if r.found || !r.c.Direct() || !r.c.Mine(e) {
		return
	}
	switch {
	case e.Kind == trace.CQE:
		r.open = slices.DeleteFunc(r.open, func(s span) bool { return s.id == e.Body.ID })
	case e.Kind == trace.Post && (e.Body.Op == engine.OpWrite || e.Body.Op == engine.OpWriteImm):
		now := span{e.Body.ID, e.VA, e.VA + uint64(e.Len)}
		r.found = slices.ContainsFunc(r.open, func(s span) bool { return s.va < now.end && now.va < s.end })
		if len(r.open) < openLimit {
			r.open = append(r.open, now)
		}
	}
}

func laterWriteWins() rule.Rule {
	return rule.Rule{
		ID: "RC-ORD-001", Level: rule.Must,
		Title: "Of two WRITEs to the same bytes the later one's data remain after both complete",
		Source: rule.Source{Ref: "GB1 IV-D; IBTA 9.5", Requirement: "RDMA WRITEs of a connection take effect in the order in which " +
			"they were posted."},
		Needs: rule.TapResponder | rule.Checked, Sees: rule.Accepts, Without: rule.PlacesEarly,
		Stimulus: "two WRITEs to one address, the first with a loss", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			o := overwrites{c: c, index: map[uint64]int{}}
			return rule.Check{Sight: o.sight, Event: o.event, End: o.end}
		},
	}
}

// overwrites remembers, for every address written twice or more, what the latest WRITE brought and what was stored.
type overwrites struct {
	c     *rule.Context
	va    uint64 // where the next packet of the open WRITE acts
	index map[uint64]int
	spots []spot
}

type spot struct {
	va           uint64
	writes       int
	want, stored placement
	at           vtime.Time // of the latest store
}

func (o *overwrites) sight(s *rule.Sight) {
	if !s.Legal || !s.Pkt.Opcode.IsWrite() {
		return
	}
	if s.Pkt.Opcode.StartsMessage() {
		o.va = s.Pkt.RETH.VA
	}
	if s.Pkt.Len > 0 && s.Sum != 0 {
		i, known := o.index[o.va]
		if !known && len(o.spots) < placementLimit {
			i = len(o.spots)
			o.index[o.va], o.spots = i, append(o.spots, spot{va: o.va, at: vtime.Never})
			known = true
		}
		if known {
			o.spots[i].writes++
			o.spots[i].want = placement{uint32(s.Pkt.Len), s.Sum}
		}
	}
	o.va += uint64(s.Pkt.Len)
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

// found judges what the application found where a WRITE had replaced another.
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
			o.c.FailAt(x.at, rule.NoRecord, rule.Responder, "an earlier WRITE's data are left over a later one's; the later one's expected")
		}
	}
}

func sendAfterWrite() rule.Rule {
	return rule.Rule{
		ID: "RC-ORD-002", Level: rule.Must,
		Title: "The receive completion of a SEND implies that the WRITEs before it are in memory",
		Source: rule.Source{Ref: "IBTA 9.5, o9-20", Requirement: "The data of an RDMA WRITE are in memory before the receive completion " +
			"of a SEND that was posted after it."},
		Needs: rule.TapResponder | rule.Receives | rule.Checked, Sees: rule.Accepts | rule.ResponseOut,
		Stimulus: "a SEND after a WRITE, the WRITE with a loss", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			v := visibility{c: c}
			return rule.Check{Sight: v.sight, Event: v.event}
		},
	}
}

// visibility compares the payload that must have been stored when a receive completes with what was.
type visibility struct {
	c        *rule.Context
	accepted uint64  // payload bytes accepted in order
	counted  bool    // some are,
	next     psn.PSN // up to here: what turns out not to have been kept, and is accepted once more, counts once
	stored   uint64
	wrote    bool // a WRITE was accepted since the latest receive was taken
	receives []receive
	found    bool // the application has looked since the latest receive completed, and found what was written
}

// receive is an accepted message that completes a receive.
type receive struct {
	first  psn.PSN // the packet that took the receive
	before uint64  // bytes accepted before that packet
	until  uint64  // bytes accepted when the message ended
	done   bool
	after  bool // a WRITE preceded it
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
	if rule.TakesReceive(p.Opcode) && len(v.receives) < placementLimit {
		v.receives = append(v.receives, receive{first: p.PSN, before: v.accepted, after: v.wrote})
		v.wrote = false
	}
	v.accepted += uint64(p.Len)
	v.wrote = v.wrote || p.Opcode.IsWrite()
	if n := len(v.receives); n > 0 && p.Opcode.EndsMessage() && !v.receives[n-1].done {
		v.receives[n-1].until, v.receives[n-1].done = v.accepted, true
	}
}

// refuse takes back what an RNR NAK refused, and everything after it.
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
