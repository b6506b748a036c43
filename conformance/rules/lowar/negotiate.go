package lowar

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var changeAnnounced = define(rule.Rule{
	ID:    "LOWAR-NEG-001",
	Title: "New parameters (r, c) are announced, take effect with a block, and increment the epoch",
	Source: rule.Source{Ref: "LOWAR IV-C", Requirement: "The sender notifies the receiver of the (r, c) tuple and the " +
		"packet number in the upcoming coding block to proactively adjust coding units for decoding in the receiver."},
	Needs: rule.TapRequester | rule.Attributes, Sees: sendsRequests,
	Stimulus: "a change of (r, c) in the middle of a run",
	New: func(c *rule.Context) rule.Check {
		n := negotiation{c: c, st: newStream(c, false)}
		n.st.repair = n.repair
		return rule.Check{Sight: n.sight, Event: n.st.event}
	},
})

// negotiation compares every block of requests with the announcements before it.
type negotiation struct {
	c       *rule.Context
	st      *stream
	known   bool        // latest is set
	latest  roce.Repair // of the latest block
	told    bool        // said is set
	said    roce.Repair // the latest announcement
	changes uint8       // announced since latest; a block that a retransmission interrupts shows no epoch
}

func (n *negotiation) sight(s *rule.Sight) {
	if h := &s.Pkt.Repair; s.Pkt.Opcode == roce.LoWAR && s.Point == trace.RequesterOut &&
		h.Type == roce.RepairAnnounce {
		if !n.told || h.Epoch != n.said.Epoch {
			n.changes++
		}
		n.said, n.told = *h, true
	}
	n.st.sight(s)
}

func (n *negotiation) repair(_ *rule.Sight, h *roce.Repair, b *block) {
	c, before := n.c, n.latest
	early := h.Base.Less(n.said.Base) && !b.again // a retransmission may come between
	changed := n.known && (h.R != before.R || h.C != before.C)
	epoch := before.Epoch + max(1, n.changes)
	switch {
	case changed && h.Base == before.Base && b.repairs > 0: // otherwise the block has begun again
		c.Failf(rule.Requester, "(r, c) changes from (%d, %d) to (%d, %d) inside the block at %s; with "+
			"a new block expected", before.R, before.C, h.R, h.C, c.Rel(h.Base))
	case changed && h.Epoch != epoch:
		c.Failf(rule.Requester, "epoch %d, want %d: (r, c) changes with the block at %s", h.Epoch, epoch, c.Rel(h.Base))
	case changed && (!n.told || n.said.R != h.R || n.said.C != h.C || n.said.Epoch != h.Epoch || early):
		c.Failf(rule.Requester, "the block at %s has (%d, %d) in epoch %d; an announcement expected first",
			c.Rel(h.Base), h.R, h.C, h.Epoch)
	case changed:
		c.Met()
	case n.known && h.Epoch != before.Epoch && (n.changes < 2 || h.Epoch != epoch): // two changes may cancel each other
		c.Failf(rule.Requester, "epoch %d, want %d: (r, c) is (%d, %d) as before, in the block at %s", h.Epoch,
			before.Epoch, h.R, h.C, c.Rel(h.Base))
	}
	if n.told && h.Epoch == n.said.Epoch {
		n.changes = 0
	}
	n.latest, n.known = *h, true
}

var announcementLost = define(rule.Rule{
	ID:    "LOWAR-NEG-002",
	Title: "Packets are recovered although announcements are lost, as long as both ends have the same parameters",
	Source: rule.Source{Ref: "LOWAR IV-C",
		Requirement: "Decoding will proceed even if no leading negotiation packet is received, but only if the " +
			"(r, c) parameters used for decoding calculation align with that included in repair packets."},
	Needs: decodes | rule.Fates, Sees: decoded | rule.RepairOut, Stimulus: "every ANNOUNCE lost, and a data packet",
	New: func(c *rule.Context) rule.Check {
		silent := false
		a := newAccuser(c, func(*rule.Sight) bool { return silent })
		return rule.Check{Sight: func(s *rule.Sight) {
			if h := &s.Pkt.Repair; s.Pkt.Opcode == roce.LoWAR && s.Out && h.Type == roce.RepairAnnounce {
				silent = s.Rec.Lost()
			}
			a.sight(s)
		}}
	},
})

var overhead = define(rule.Rule{
	ID:    "LOWAR-OVH-001",
	Title: "The overhead on the wire is the repair packets: c for r data packets in a long message",
	Source: rule.Source{Ref: "LOWAR VI-B", Requirement: "The additional latency at the receiver’s end aligns closely " +
		"with the transmission latency of these packets, exhibiting a direct correlation with the redundancy rate."},
	Needs: rule.TapRequester | rule.Attributes, Sees: sendsRequests, Stimulus: "long messages without loss",
	New: func(c *rule.Context) rule.Check {
		o := account{c: c}
		st := newStream(c, false)
		st.data, st.repair = o.coded, o.repair
		return rule.Check{Sight: func(s *rule.Sight) {
			if s.Pkt.Opcode == roce.LoWAR && !isRepair(s.Pkt) && !negotiates(s.Pkt.Repair.Type) && s.Out {
				o.talk += s.Rec.WireBytes
			}
			st.sight(s)
		}, Event: st.event, End: o.end}
	},
})

// negotiates reports whether a packet of the shim adapts the coding: a small packet now and then that saves repair
// packets (IV-C). It is no overhead of coding.
func negotiates(t roce.RepairType) bool { return t == roce.RepairAnnounce || t == roce.RepairFeedback }

// account adds up bytes on the wire over full blocks.
type account struct {
	c       *rule.Context
	sum     expense // of the blocks judged
	open    expense // of the latest block; it is not judged if the QP fails or the trace ends before its repair packets
	talk    int     // bytes on the wire of other packets of the shim
	longest []int   // length of the longest packet of each unit in the open block
	blocks  int     // full blocks judged
}

// expense is what blocks cost, in bytes on the wire.
type expense struct {
	data, repairs int
	due           int // sum of the longest packets of the units: the bytes that repair packets may have
	packets       int // repair packets
}

// fullBlocks is the number of full blocks needed for a verdict.
const fullBlocks = 4

// The size of repair packets may differ by slack from due. It may also be larger by their headers, which matter at a
// small MTU: a repair packet has a header of 12 bytes of its own, and its payload covers the BTH, the address and the
// immediate of the packets.
const (
	slack   = 0.1
	headers = 12 + 12 + 16 + 4
)

// coded adds a data packet: a unit is as long as its longest packet, so a short last packet saves nothing.
func (o *account) coded(s *rule.Sight, b *block) {
	if b.n == 1 {
		o.judged()
		o.longest = slices.Grow(o.longest[:0], max(b.c, 1))[:max(b.c, 1)]
		clear(o.longest)
	}
	unit := &o.longest[(b.n-1)%len(o.longest)]
	*unit = max(*unit, s.Rec.WireBytes)
}

func (o *account) repair(s *rule.Sight, _ *roce.Repair, b *block) {
	if b.n != b.r || b.r < 2 {
		return
	}
	if b.repairs == 0 {
		o.open = expense{data: b.wire}
		for _, n := range o.longest {
			o.open.due += n
		}
	}
	o.open.repairs += s.Rec.WireBytes
	if o.open.packets++; o.open.packets == b.c {
		o.judged()
	}
}

// judged adds the open block to those judged, if it has repair packets.
func (o *account) judged() {
	if n := &o.open; n.packets > 0 {
		o.sum.data, o.sum.repairs, o.sum.due = o.sum.data+n.data, o.sum.repairs+n.repairs, o.sum.due+n.due
		o.sum.packets += n.packets
		o.blocks++
	}
	o.open = expense{}
}

func (o *account) end(vtime.Time) {
	if o.blocks < fullBlocks {
		return
	}
	o.c.Met()
	off := int(slack * float64(o.sum.due))
	if got := o.sum.repairs + o.talk; got > o.sum.due+max(off, headers*o.sum.packets) || got < o.sum.due-off {
		o.c.Failf(rule.Requester, "got %d bytes of repair packets for %d of data, want about %d", got, o.sum.data, o.sum.due)
	}
}
