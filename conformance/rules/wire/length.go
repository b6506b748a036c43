package wire

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var payloadLength = rule.Rule{
	ID: "WIRE-LEN-001", Level: rule.Must, Rests: validity.Frames,
	Title: "FIRST and MIDDLE carry one MTU, LAST 1 to MTU bytes, ONLY 0 to MTU bytes",
	Source: rule.Source{Ref: "IBTA 9.4", Requirement: "All packets of a message but the last are filled to the path " +
		"MTU, and the last of several is not empty"},
	Needs: rule.Frames, Sees: rule.Emitted | rule.Foreign, Stimulus: "every operation and length", BlackBox: "HW,RXE",
	Each: sent(func(c *rule.Context, s *rule.Sight) {
		p := s.Pkt
		switch o := p.Opcode; {
		case s.Defect() != "": // its opcode or its length may not have been read
			return
		case o.Class() == roce.ClassUD:
			datagramLength(c, s)
			return
		case !o.HasPayload() || o == roce.LoWAR || o.Class() != roce.ClassRC && !o.IsRequest() && !o.IsResponse():
			return
		case roce.IsPathMTU(c.MTU):
		case !p.Opcode.EndsMessage() && !roce.IsPathMTU(p.Len):
			c.Failf(sender(s), "%v with %d bytes, which is no path MTU; one of %v expected", p.Opcode, p.Len, roce.PathMTUs)
			return
		case c.MTU == 0:
			return
		}
		c.Met()
		least, most := 0, c.MTU
		switch {
		case !p.Opcode.EndsMessage():
			least = c.MTU
		case p.Opcode.IsLast():
			least = 1
		}
		if p.Len < least || p.Len > most {
			c.Failf(sender(s), "%v with %d bytes, must have %d to %d", p.Opcode, p.Len, least, most)
		}
	}),
}

// datagramLength judges a datagram, whose limit is the MTU of the port. That is not reported, and may be larger than
// the MTU of a path.
func datagramLength(c *rule.Context, s *rule.Sight) {
	switch n, most := s.Pkt.Len, slices.Max(roce.PathMTUs[:]); {
	case s.Defect() != "":
	case n > most:
		c.Failf(rule.Requester, "%v with %d bytes; %d at most, whatever the MTU is", s.Pkt.Opcode, n, most)
	case !c.Known && n > c.MTU:
		c.Doubt("a datagram is longer than the path MTU that the capture shows: the MTU of the port is not known")
	}
}

// packetCount counts first transmissions only, so that retransmissions do not count as packets of the message.
var packetCount = rule.Rule{
	ID: "WIRE-LEN-002", Level: rule.Must, Rests: validity.Sequence,
	Title: "A message has as many packets as its length needs, one at least",
	Source: rule.Source{Ref: "IBTA 9.4", Requirement: "A message of n bytes is segmented into n/MTU packets, rounded " +
		"up; a message without bytes is one packet"},
	Sees: rule.RequestOut | rule.RequestIn | rule.ResponseOut, Stimulus: "every operation and length",
	BlackBox: "HW,RXE",
	Keeps:    true, Each: func(c *rule.Context, s *rule.Sight) {
		p := s.Pkt
		switch {
		case s.Point == trace.ResponderIn:
			if p.Opcode.IsRead() && s.Intact() {
				k := rule.State[counting](c)
				if k.known == nil {
					k.known = new(reads)
				}
				k.known.add(c, p)
			}
		case s.Point == trace.ResponderOut:
			// Responses of the extension classes are numbered apart.
			if p.Opcode.Class() == roce.ClassRC && p.Opcode.IsReadResponse() && p.Opcode.EndsMessage() {
				rule.State[counting](c).lastResponse(c, p)
			}
		case s.Relation == rule.First && (p.Opcode.IsSend() || p.Opcode.IsWrite()):
			rule.State[counting](c).request(c, p)
		}
	},
}

// counting counts the packets of the open message, and those of READ responses by their PSNs.
type counting struct {
	open  bool   // the first packet of the message was seen
	n     int32  // packets so far
	bytes int    // length of the message: the DMALen of a WRITE, the payload of a SEND so far
	known *reads // nil before the first READ
}

func (k *counting) request(c *rule.Context, p *roce.Packet) {
	if p.Opcode.StartsMessage() {
		k.open, k.n, k.bytes = true, 0, 0
		if p.Opcode.IsWrite() {
			k.bytes = int(p.RETH.DMALen)
		}
	}
	k.n++
	if p.Opcode.IsSend() {
		k.bytes += p.Len
	}
	if !k.open || !p.Opcode.EndsMessage() {
		return
	}
	k.open = false
	if want := c.Packets(uint32(k.bytes)); want != 0 {
		c.Met()
		if int(k.n) != want {
			c.Failf(rule.Requester, "%d packets for a message of %d bytes, must be %d", k.n, k.bytes, want)
		}
	}
}

// lastResponse judges the last response of a READ: no requested bytes may remain.
func (k *counting) lastResponse(c *rule.Context, p *roce.Packet) {
	if k.known == nil {
		return
	}
	if _, ok := k.known.payload(p.PSN, c.MTU); !ok {
		return
	}
	c.Met()
	if k.known.sameRead(p.PSN, p.PSN.Next()) {
		c.Failf(rule.Responder, "%v at %s, but the READ asked for more packets", p.Opcode, c.Rel(p.PSN))
	}
}
