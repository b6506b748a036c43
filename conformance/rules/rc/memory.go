package rc

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// asReceived returns how many bytes an application found wrong when a receive completed; ok is false for other events.
func asReceived(c *rule.Context, e *trace.Event) (wrong int64, ok bool) {
	return e.Value, e.Kind == trace.Memory && e.Name == "received" && !c.Mine(e)
}

// placementLimit bounds the placements that a check remembers; at the limit a check forgets all or adds none.
const placementLimit = 1 << 16

var psnIdempotent = rule.Rule{
	ID: "RC-PSN-006", Level: rule.Must,
	Title: "A duplicate request leaves the responder's memory as its first execution left it",
	Source: rule.Source{Ref: "IBTA 9.7.5.1.2",
		Requirement: "A duplicate SEND, WRITE or atomic request is acknowledged and not executed again."},
	Needs: rule.TapResponder | rule.Checked, Sees: rule.RequestIn | rule.ResponseOut,
	Stimulus: "a duplicate request, or a lost acknowledgement", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		if !c.Offers(rule.Stores) {
			return duplicatesFound(c)
		}
		p := placements{c: c, last: map[uint64]placement{}}
		return rule.Check{Sight: p.sight, Event: p.event}
	},
}

// duplicatesFound judges the application's check of its memory after a duplicate WRITE.
func duplicatesFound(c *rule.Context) rule.Check {
	duplicate := false
	return rule.Check{
		Sight: func(s *rule.Sight) {
			duplicate = duplicate || s.Point == trace.ResponderIn && s.Relation == rule.Duplicate &&
				s.Pkt.Opcode.IsWrite() && s.Pkt.Len > 0
		},
		Event: func(e *trace.Event) {
			wrong, ok := asReceived(c, e)
			switch {
			case !ok || !duplicate:
				return
			case wrong > 0:
				c.Fail(rule.Responder, "after a duplicate WRITE the application finds other bytes than the first WRITE's")
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

// placement is the length and checksum of the bytes written at an address.
type placement struct{ size, sum uint32 }

func (p *placements) sight(s *rule.Sight) {
	o := s.Pkt.Opcode
	switch {
	case s.Point == trace.ResponderOut:
		if s.Pkt.AETH.Syndrome.IsRNR() {
			p.owed = 0 // refused requests are not stored; kept ones may be stored later
		}
	case s.Pkt.Len == 0 && !o.IsAtomic(), o.IsSend() && p.regions.Known():
	case s.Relation == rule.Duplicate:
		p.duplicate = true
		p.c.Met()
	default:
		// A packet that is kept may be stored at once or at its turn; a duplicate of a kept packet is never stored.
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
		p.c.Failf(rule.Responder,
			"a duplicate writes %d bytes at %#x that were not there; it has to change nothing", e.Len, e.VA)
	}
	if len(p.last) == placementLimit {
		clear(p.last)
	}
	p.last[e.VA] = now
}

var memoryEqual = rule.Rule{
	ID: "RC-MEM-001", Level: rule.Must,
	Title: "After success the target range equals the source, and bytes outside it are untouched",
	Source: rule.Source{Ref: "IBTA 9.4, 9.7",
		Requirement: "The reliable service delivers every message exactly once, in order and without error."},
	Needs: rule.Image, Sees: rule.Requests, Minds: rule.Fetch, Stimulus: "mixed operations under random loss",
	BlackBox: hardware,
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

// rewrites finds a WRITE to bytes of another one that was not complete when it was posted. A responder that places
// out-of-order packets may leave either of them in those bytes.
type rewrites struct {
	c     *rule.Context
	open  []span // WRITEs not yet complete, openLimit at most
	found bool   // two open WRITEs overlapped
}

// span is the range [va, end) of a WRITE that is not complete.
type span struct {
	id, va, end uint64
}

// openLimit bounds the open WRITEs that a new one is compared with.
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
