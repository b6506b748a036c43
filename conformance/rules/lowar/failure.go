package lowar

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/shim"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// hole tracks a packet that could not be recovered, from the failure of its block until it arrives. The transport above
// sees the gap, sends one NAK, and must not acknowledge the packet.
type hole struct {
	c     *rule.Context
	which func(why shim.Failure, p psn.PSN) bool // the failures that the rule judges
	quiet bool                                   // naks alone do not meet the rule

	failures int              // of the decoder, at the latest sight
	open     bool             // missing has not arrived
	missing  rule.Debt        // the missing packet
	nak      *rule.Obligation // owed once the transport has seen a later packet
	ahead    bool             // the transport has seen a later packet
	naks     int              // of the missing packet
}

// holes makes the check of a rule about failures.
func holes(which func(c *rule.Context) func(shim.Failure, psn.PSN) bool) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		return rule.Check{Sight: newHole(c, which(c)).sight}
	}
}

func newHole(c *rule.Context, which func(shim.Failure, psn.PSN) bool) *hole {
	h := &hole{c: c, which: which, nak: c.Owes(rule.Responder,
		"a NAK of %q expected, which cannot be recovered; none seen")}
	h.nak.Unless = func(rule.Debt) bool { return h.naks > 0 || c.Failed }
	return h
}

func (h *hole) sight(s *rule.Sight) {
	d := h.c.Decoders[0]
	if d.Failures != h.failures {
		h.failures = d.Failures
		h.open = h.which(d.Why, d.Hole)
		h.missing, h.naks, h.ahead = rule.Debt{PSN: d.Hole, At: s.At, Index: s.Index}, 0, false
		h.nak.Excuse(nil)
	}
	switch {
	case !h.open:
	case h.c.Fatal || h.c.RNRWait:
		h.open = false
		h.nak.Excuse(nil)
	case s.Point == trace.ResponderIn && s.Pkt.Opcode != roce.LoWAR:
		h.arrived(s)
	case s.Point == trace.ResponderOut && s.Pkt.Opcode != roce.LoWAR:
		h.response(s)
	}
}

func (h *hole) arrived(s *rule.Sight) {
	switch {
	case s.Pkt.PSN == h.missing.PSN, h.missing.PSN.Less(h.c.EPSN):
		h.close(s.At)
	// a packet beyond the reach of the transport draws no NAK
	case s.Relation == rule.Ahead && (s.Kept || !h.c.Keeps()) && h.missing.PSN.Less(s.Pkt.PSN) && !h.ahead:
		h.ahead, h.missing.Since = true, s.At
		h.nak.Owe(h.missing)
	}
}

// close judges the NAKs when the packet has arrived.
func (h *hole) close(now vtime.Time) {
	h.open = false
	if h.naks > 0 && !h.quiet {
		h.c.Met()
	}
	h.nak.Close(now)
}

// repeatsNAKs reports whether the responder is configured to repeat the NAK of a gap (nack_interval of go-back-N),
// which GBN-NAK-004 judges.
func repeatsNAKs(c *rule.Context) bool {
	text, unknown := c.Given(rule.Responder, "nack_interval")
	return unknown || text != "" && text != "0"
}

func (h *hole) response(s *rule.Sight) {
	c, missing := h.c, h.missing.PSN
	last, ok := rule.Acknowledged(s.Pkt)
	switch {
	case !ok:
	case rule.Selective(s.Pkt) && s.Pkt.PSN.LessEq(missing) && missing.Less(s.Pkt.SACK.PSN):
		// The transport above may acknowledge selectively as often as it likes, and may lack an older packet.
		h.naks = max(h.naks, 1)
	case rule.IsNAK(s.Pkt) && s.Pkt.PSN == missing:
		if h.naks++; h.naks > 1 && !repeatsNAKs(c) {
			c.Failf(rule.Responder, "asks for %s a second time; once expected", c.Request(missing))
		}
	case missing.LessEq(last):
		c.Failf(rule.Responder, "acknowledges up to %s; %s neither arrived nor can be recovered",
			c.Rel(last), c.Request(missing))
		h.open = false
		h.nak.Excuse(nil)
	}
}

// repairsLost holds the repair packets that the link lost.
type repairsLost struct {
	gone rule.Latest[roce.Repair]
}

// mostGone bounds the repair packets remembered.
const mostGone = 64

func (r *repairsLost) sight(s *rule.Sight) {
	if s.Point == trace.RequesterOut && isRepair(s.Pkt) && s.Rec.Lost() {
		r.gone.Add(s.Pkt.Repair, mostGone)
	}
}

// covered reports whether the repair packet of p's unit was lost.
func (r *repairsLost) covered(p psn.PSN) bool {
	for _, h := range r.gone.List() {
		if p.In(h.Base, h.Base.Add(int(h.N))) && p.Sub(h.Base)%max(1, int(h.C)) == int(h.ISN) {
			return true
		}
	}
	return false
}

var twoLost = define(rule.Rule{
	ID:    "LOWAR-DEC-005",
	Title: "With two packets of a unit lost the transport sees the gap: one NAK, and nothing acknowledged beyond",
	Source: rule.Source{Ref: "LOWAR IV-B2", Requirement: "If a coding block fails to repair or triggers a " +
		"timeout in ROB, LoWAR will pass it to RDMA stacks to activate GBN retransmission."},
	Needs: decodes, Sees: decoded, Stimulus: "packets k and k+c of a block lost",
	New: holes(func(*rule.Context) func(shim.Failure, psn.PSN) bool {
		return func(why shim.Failure, _ psn.PSN) bool { return why == shim.FailedUnit }
	}),
})

var repairAlsoLost = define(rule.Rule{
	ID:    "LOWAR-DEC-006",
	Title: "With a packet and the repair packet of its unit lost the transport sees the gap",
	Source: rule.Source{Ref: "LOWAR IV-B2", Requirement: "If a coding block fails to repair [...], LoWAR will " +
		"pass it to RDMA stacks to activate GBN retransmission."},
	Needs: decodes | rule.Both | rule.Fates, Sees: decoded | rule.RepairOut,
	Stimulus: "a packet of a block lost, and its repair packet",
	New: func(c *rule.Context) rule.Check {
		gone := repairsLost{}
		h := newHole(c, func(why shim.Failure, p psn.PSN) bool { return why != shim.FailedFull && gone.covered(p) })
		return rule.Check{Sight: func(s *rule.Sight) { gone.sight(s); h.sight(s) }}
	},
})

var repairLost = define(rule.Rule{
	ID:    "LOWAR-DEC-007",
	Title: "The loss of repair packets alone has no effect",
	Source: rule.Source{Ref: "LOWAR IV-A", Requirement: "LoWAR works transparently [...]: repair packets are " +
		"generated beside the data packets, which stay as they are."},
	Needs: decodes | rule.Both | rule.Fates, Sees: decoded | rule.RepairOut, Stimulus: "a repair packet lost",
	New: func(c *rule.Context) rule.Check {
		var blocks []roce.Repair // whose repair packets were lost and whose data arrived
		return rule.Check{Sight: func(s *rule.Sight) {
			switch {
			case s.Point == trace.RequesterOut && isRepair(s.Pkt) && s.Rec.Lost():
				if len(blocks) == openLimit {
					blocks = blocks[:copy(blocks, blocks[1:])]
				}
				blocks = append(blocks, s.Pkt.Repair)
			case s.Point == trace.ResponderIn && s.Relation == rule.InOrder:
				for i := 0; i < len(blocks); {
					end := blocks[i].Base.Add(int(blocks[i].N))
					if c.Decoders[0].Failures > 0 || s.Pkt.PSN.Sub(end) > openLimit {
						blocks = append(blocks[:i], blocks[i+1:]...)
						continue
					}
					if s.Pkt.PSN == end {
						c.Met()
					}
					i++
				}
			case s.Point == trace.ResponderOut && rule.IsNAK(s.Pkt):
				for _, h := range blocks {
					if end := h.Base.Add(int(h.N)); s.Pkt.PSN.In(h.Base, end) && end.LessEq(c.EPSN) {
						c.Failf(rule.Responder, "asks for %s, which has arrived: only repair packets of its block "+
							"were lost; no NAK expected", c.Request(s.Pkt.PSN))
					}
				}
			}
		}}
	},
})
