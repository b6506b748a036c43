package rule

import (
	"encoding/binary"
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Kind is a set of properties of a sight of a request or response by which checks are woken and called; empty for a
// sight with none of them.
type Kind uint16

// The kinds. A sight of a packet that belongs to no half-conversation, of an acknowledgement of READ data, or of a QP
// in error is of every kind.
const (
	Odd     Kind = 1 << iota // its receiver cannot use it, or the link or the harness altered or made it
	Faulty                   // its turn has come, and it is not a legal request
	Early                    // a packet that arrives or leaves before its turn
	Late                     // a retransmission, or a duplicate at its receiver
	Asking                   // a NAK of any kind, or a selective acknowledgement
	Fetch                    // a request that data answer, or an answer with data
	Empty                    // a request of zero bytes that names memory
	Writing                  // a packet of a WRITE
	Sending                  // a packet of a SEND
	Edge                     // a request that begins or ends a message, or lies in no message
	Asked                    // a request that asks for an acknowledgement
	Answer                   // a response
	AnyKind = Answer<<1 - 1
)

// Network returns a frame from the IP header on and the offset of the UDP header in it; ok is false for anything but
// UDP over IPv4 without options or IPv6. It trusts no length field, because rules judge those.
func Network(raw []byte) (ip []byte, udp int, ok bool) {
	const ethernet, vlan = 14, 4
	if len(raw) < ethernet+vlan {
		return nil, 0, false
	}
	ip = raw[ethernet:]
	if binary.BigEndian.Uint16(raw[12:]) == 0x8100 {
		ip = ip[vlan:]
	}
	switch {
	case len(ip) >= 28 && ip[0] == 0x45 && ip[9] == 17:
		return ip, 20, true
	case len(ip) >= 48 && ip[0]>>4 == 6 && ip[6] == 17:
		return ip, 40, true
	}
	return nil, 0, false
}

// otherSource reports whether the source address of a frame differs from peer.
func otherSource(raw []byte, peer netip.Addr) bool {
	src, ok := roce.Source(raw)
	return ok && src != peer
}

// PeerAddress returns the source address of the requests that have arrived; nil before the first. A request from any
// other address is Odd.
func PeerAddress(c *Context) []byte {
	if c.last[trace.ResponderIn] == vtime.Never {
		return nil
	}
	return c.conn.Ends[c.Req].Addr.AsSlice()
}

// kindOf returns the kinds of a sight.
func kindOf(c *Conversation, s *Sight) (k Kind) {
	p := s.Pkt
	o := p.Opcode
	if !OfConnection(o) || o.IsReadAck() || c.Failed || c.Fatal {
		return AnyKind
	}
	if s.Point == trace.ResponderIn && (s.Relation == Unrelated || otherSource(s.Raw, c.conn.Ends[c.Req].Addr)) ||
		p.TVer != 0 || s.Rec.Changed != nil || s.Rec.Fate == trace.Injected || !s.Intact() {
		k |= Odd
	}
	switch s.Relation {
	case Ahead:
		k |= Early
	case Duplicate, Again:
		k |= Late
	case First:
		if s.Point == trace.RequesterOut && p.PSN != c.MAX {
			k |= Early
		}
	case InOrder, Released:
		if !s.Legal {
			k |= Faulty
		}
	}
	return k | kindOfPacket(c, s)
}

// kindOfPacket returns the kinds that do not depend on the packet's place in the PSN space.
func kindOfPacket(c *Conversation, s *Sight) (k Kind) {
	p := s.Pkt
	o := p.Opcode
	switch {
	case o.IsWrite():
		k |= Writing
	case o.IsSend():
		k |= Sending
	case o.AnsweredByData(), o.IsReadResponse(), o == roce.AtomicAck:
		k |= Fetch
	}
	if p.RETH.DMALen == 0 && o.Layout()&(roce.LayoutRETH|roce.LayoutVAETH) != 0 {
		k |= Empty
	}
	if o.IsResponse() {
		if o.Class() != roce.ClassRC || o == roce.Acknowledge && !p.AETH.Syndrome.IsACK() {
			k |= Asking
		}
		return k | Answer
	}
	inside := c.requester.pos.inside
	if s.Point == trace.ResponderIn {
		inside = c.responder.pos.inside
	}
	if !inside || o.StartsMessage() || o.EndsMessage() {
		k |= Edge
	}
	if p.AckReq {
		k |= Asked
	}
	return k
}
