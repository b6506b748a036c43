package irn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var writePlaceable = define(rule.Rule{
	ID: "IRN-PLC-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "Every WRITE packet is placeable alone: it has a RETH, with the address of its own first byte",
	Source: rule.Source{Ref: early, Requirement: "The RETH header (containing the remote memory location) is carried " +
		"only by the first packet of a Write message. IRN requires adding it to every packet."},
	Needs: rule.TapRequester, Sees: rule.RequestOut, Stimulus: "WRITEs of several packets",
	New: func(c *rule.Context) rule.Check {
		var va uint64    // of the next packet of the open message
		var next psn.PSN // its PSN
		inside := false  // a message is open, and va is known
		return rule.Check{Sight: func(s *rule.Sight) {
			p := s.Pkt
			if !p.Opcode.IsWrite() || s.Relation != rule.First || s.Defect() != "" {
				return
			}
			switch {
			case p.Opcode.Layout()&roce.LayoutRETH == 0:
				c.Failf(rule.Requester, "%v %s has no RETH; one expected", p.Opcode, c.Rel(p.PSN))
				return
			case p.Opcode.StartsMessage() || !inside || p.PSN != next:
				va = p.RETH.VA
			case p.RETH.VA != va:
				c.Failf(rule.Requester, "the RETH of %s has address %#x; %#x expected", c.Rel(p.PSN), p.RETH.VA, va)
			default:
				c.Met()
			}
			va += uint64(p.Len)
			next, inside = p.PSN.Next(), !p.Opcode.EndsMessage()
		}}
	},
})

var sendPlaceable = define(rule.Rule{
	ID: "IRN-PLC-002", Level: rule.Must,
	Title: "Every SEND packet carries the number of its receive and its offset in it, and completes that receive",
	Source: rule.Source{Ref: early,
		Requirement: "Each Send packet carries the recv_WQE_SN, by which the responder identifies the Receive WQE, " +
			"and the offset in it; a Write with Immediate carries the recv_WQE_SN in its last packet."},
	Needs: rule.Both | rule.Completions, Sees: rule.RequestOut,
	Stimulus: "SENDs of several packets that overtake each other",
	New: func(c *rule.Context) rule.Check {
		p := places{c: c, sn: map[psn.PSN]uint32{}}
		return rule.Check{Sight: p.sight, Event: p.event}
	},
})

// places tracks the numbers of receives, as the requester counts them and as the responder completes them.
type places struct {
	c        *rule.Context
	next     uint32             // number of the next message that takes a receive
	known    bool               // a message has named its receive
	first    uint32             // number of the first receive, which the paper leaves open; valid when known is true
	offset   uint32             // of the next packet in its message, in bytes
	sn       map[psn.PSN]uint32 // by the PSN of the packet that completes it
	receives []uint64           // posted, by number
}

func (x *places) sight(s *rule.Sight) {
	c, p := x.c, s.Pkt
	if s.Relation != rule.First || s.Defect() != "" || !p.Opcode.IsSend() &&
		!(p.Opcode.IsWrite() && p.Opcode.HasImm()) {
		return
	}
	if p.Opcode.Layout()&roce.LayoutSOETH == 0 {
		c.Failf(rule.Requester, "%v %s does not name its receive", p.Opcode, c.Rel(p.PSN))
		return
	}
	if p.Opcode.IsSend() {
		x.packet(p)
	}
	if !x.known {
		x.known, x.first, x.next = true, p.SO.SN, p.SO.SN
	}
	if p.SO.SN != x.next {
		c.Failf(rule.Requester, "%s is for receive %d, the next is %d", c.Rel(p.PSN), p.SO.SN, x.next)
		x.next = p.SO.SN
	}
	if p.Opcode.EndsMessage() {
		x.sn[p.PSN] = p.SO.SN
		x.next = (x.next + 1) & psn.Mask
	}
}

// packet judges the offset of a packet of a SEND.
func (x *places) packet(p *roce.Packet) {
	if p.Opcode.StartsMessage() {
		x.offset = 0
	}
	if p.SO.Offset != x.offset {
		x.c.Failf(rule.Requester, "%s has offset %d; %d expected", x.c.Rel(p.PSN), p.SO.Offset, x.offset)
	}
	x.offset += uint32(p.Len)
}

// event compares the receive that a message completes with the one that it names.
func (x *places) event(e *trace.Event) {
	switch {
	case x.c.Mine(e):
	case e.Kind == trace.Receive && len(x.receives) < longest:
		x.receives = append(x.receives, e.Body.ID)
	case e.Kind == trace.Recv && e.Body.Status == engine.StatusSuccess:
		sn, ok := x.sn[e.Body.PSN]
		at := int(psn.New(sn - x.first))
		if delete(x.sn, e.Body.PSN); !ok || at >= len(x.receives) {
			return
		}
		x.c.Met()
		if want := x.receives[at]; want != e.Body.ID {
			x.c.Failf(rule.Responder,
				"the message that ends at %s names receive %d, which is wr=%d, and completes wr=%d",
				x.c.Rel(e.Body.PSN), sn, want, e.Body.ID)
		}
	}
}

var completionParked = define(rule.Rule{
	ID: "IRN-CQE-001", Level: rule.MustNot,
	Title: "No receive completes before all earlier packets have arrived",
	Source: rule.Source{Ref: early, Requirement: "The responder stores a premature CQE until all packets up to that " +
		"one have arrived, and only then is the completion raised."},
	Needs: rule.TapResponder | rule.Completions, Sees: rule.Accepts,
	Stimulus: "a lost packet, and a later SEND that is complete",
	New: func(c *rule.Context) rule.Check {
		parked := map[psn.PSN]bool{}
		return rule.Check{
			Sight: func(s *rule.Sight) {
				if s.Kept && kindOf(s.Pkt.Opcode) == lastCQE {
					parked[s.Pkt.PSN] = true
				}
			},
			Event: func(e *trace.Event) {
				if e.Kind != trace.Recv || c.Mine(e) || e.Body.Status != engine.StatusSuccess {
					return
				}
				if !e.Body.PSN.Less(c.EPSN) {
					c.Failf(rule.Responder, "the receive wr=%d completes with %s, while %s is missing", e.Body.ID,
						c.Rel(e.Body.PSN), c.Rel(c.EPSN))
				} else if parked[e.Body.PSN] {
					c.Met()
				}
				delete(parked, e.Body.PSN)
			},
		}
	},
})
