package srn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var placeable = define(rule.Rule{
	ID: "SRN-PLC-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "Packets say where they go as those of FaSR do: WRITE by address, SEND by the number of the receive and the offset",
	Source: rule.Source{Ref: "FASR IV-D", Requirement: "All SEND packets carry the 3 bytes size send message sequence number (MSN) and 3 bytes for the " +
		"payload offset [...]. All WRITE packets carry their target remote memory address, which costs 8 bytes."},
	Needs: rule.TapRequester, Sees: rule.RequestOut, Stimulus: "messages of several packets",
	New: func(c *rule.Context) rule.Check {
		m := message{c: c}
		return rule.Check{Sight: m.sight}
	},
})

// message is the message whose packets leave, and where the next of them belongs.
type message struct {
	c      *rule.Context
	begun  bool
	va     uint64
	sn     uint32
	off    uint32
	seen   bool // a message that takes a receive was sent: its number is the last
	newest uint32
}

func (m *message) sight(s *rule.Sight) {
	p, o := s.Pkt, s.Pkt.Opcode
	if s.Relation != rule.First || !o.IsSend() && !o.IsWrite() || s.Defect() != "" {
		return
	}
	if o.StartsMessage() {
		m.begun, m.va, m.sn, m.off = true, p.RETH.VA, p.SO.SN, 0
	} else if m.begun {
		m.c.Met()
	}
	if m.begun {
		m.judge(p)
		m.off += uint32(p.Len)
	}
}

func (m *message) judge(p *roce.Packet) {
	l := p.Opcode.Layout()
	switch {
	case p.Opcode.Class() != roce.ClassF:
		m.c.Failf(rule.Requester, "%v has no room for its place; an opcode of FaSR expected", p.Opcode)
	case l&roce.LayoutVAETH != 0 && p.RETH.VA != m.va+uint64(m.off):
		m.c.Failf(rule.Requester, "address %#x, want %#x", p.RETH.VA, m.va+uint64(m.off))
	case p.Opcode.IsSend() && (p.SO.SN != m.sn || p.SO.Offset != m.off):
		m.c.Failf(rule.Requester, "receive %d and offset %d, want %d and %d", p.SO.SN, p.SO.Offset, m.sn, m.off)
	case l&roce.LayoutSOETH != 0 && p.Opcode.EndsMessage():
		if m.seen && p.SO.SN != (m.newest+1)&psn.Mask {
			m.c.Failf(rule.Requester, "receive %d, want %d, as the message before has %d", p.SO.SN, (m.newest+1)&psn.Mask, m.newest)
		}
		m.seen, m.newest = true, p.SO.SN
	}
}
