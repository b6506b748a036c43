package selective

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// Places returns the check that each packet of FaSR can be placed without the packets before it: a packet of a WRITE
// carries its own address, a packet of a SEND the number of its receive and its offset there, and the messages that
// take a receive are numbered without a gap (FaSR IV-D).
func Places(c *rule.Context) rule.Check {
	m := message{c: c}
	return rule.Check{Sight: m.sight}
}

// message is the message that is being sent, and the place of its next packet.
type message struct {
	c      *rule.Context
	begun  bool   // the first packet of a message was seen
	va     uint64 // remote address of the first byte of a WRITE
	sn     uint32 // number of the receive of a SEND
	offset uint32 // payload bytes of the message that have left
	known  bool   // a message that took a receive was seen
	newest uint32 // number of the latest such message; valid when known is true
}

func (m *message) sight(s *rule.Sight) {
	p, o := s.Pkt, s.Pkt.Opcode
	switch {
	case s.Relation != rule.First || !rule.IsData(o) || s.Defect() != "":
		return
	case o.Class() != roce.ClassF:
		m.c.Failf(rule.Requester, "%v carries no address or offset; an opcode of FaSR expected", o)
		return
	case o.StartsMessage():
		m.begun, m.va, m.sn, m.offset = true, p.RETH.VA, p.SO.SN, 0
	case !m.begun:
		return
	default:
		m.c.Met()
	}
	m.placed(p)
	m.offset += uint32(p.Len)
	switch {
	case !o.EndsMessage():
	case o.IsSend():
		m.numbered(p, m.sn)
	case o.Layout()&roce.LayoutSOETH != 0:
		m.numbered(p, p.SO.SN)
	}
}

// placed judges the place that a packet carries.
func (m *message) placed(p *roce.Packet) {
	name, l := m.c.Rel(p.PSN), p.Opcode.Layout()
	switch {
	case l&roce.LayoutVAETH != 0 && p.RETH.VA != m.va+uint64(m.offset):
		m.c.Failf(rule.Requester, "%s carries address %#x; %#x expected", name, p.RETH.VA, m.va+uint64(m.offset))
	case p.Opcode.IsSend() && p.SO.Offset != m.offset:
		m.c.Failf(rule.Requester, "%s carries offset %d; %d expected", name, p.SO.Offset, m.offset)
	case p.Opcode.IsSend() && p.SO.SN != m.sn:
		m.c.Failf(rule.Requester, "%s carries receive number %d in the message of receive %d", name, p.SO.SN, m.sn)
	}
}

// numbered judges n, the number of the message that p ends: it follows the number of the message before.
func (m *message) numbered(p *roce.Packet, n uint32) {
	if m.known && n != (m.newest+1)&psn.Mask {
		m.c.Failf(rule.Requester, "%s carries receive number %d after number %d", m.c.Rel(p.PSN), n, m.newest)
	}
	m.known, m.newest = true, n
}
