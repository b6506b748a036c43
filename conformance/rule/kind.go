package rule

import (
	"encoding/binary"
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Kind is what is special about a sight of requests and responses: a set of these, empty where nothing is.
type Kind uint16

// The kinds. What belongs to no half-conversation, what acknowledges READ data, and all that is seen of a QP in error,
// is of every kind.
const (
	Odd     Kind = 1 << iota // its receiver cannot use it, or it is not as its sender sent it
	Faulty                   // its turn has come, and it is illegal
	Early                    // it came before its turn, or leaves so
	Late                     // it was there before
	Asking                   // a NAK of any kind, or a selective acknowledgement
	Fetch                    // of a READ or atomic
	Empty                    // a request of no bytes that names memory
	Writing                  // of a WRITE
	Sending                  // of a SEND
	Edge                     // a request that begins or ends a message, or stands in none
	Asked                    // a request that asks for an acknowledgement
	Answer                   // a response
	AnyKind = Answer<<1 - 1
)

// Network returns a frame from the IP header on and the offset of the UDP header in it; ok is false for anything but
// UDP over IPv4 without options or IPv6. It trusts no length field, since those are what the rules judge.
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

// otherSource reports whether a frame comes from another address than peer.
func otherSource(raw []byte, peer netip.Addr) bool {
	src, ok := roce.Source(raw)
	return ok && src != peer
}

// PeerAddress returns the address that the requests so far have come from, the others being Odd; nil before the first.
func PeerAddress(c *Context) []byte {
	if c.last[trace.ResponderIn] == vtime.Never {
		return nil
	}
	return c.conn.Ends[c.Req].Addr.AsSlice()
}

// kindOf returns what is special about a sight.
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

// kindOfPacket returns what is special about a packet, wherever its PSN stands.
func kindOfPacket(c *Conversation, s *Sight) (k Kind) {
	p := s.Pkt
	o := p.Opcode
	switch {
	case o.IsWrite():
		k |= Writing
	case o.IsSend():
		k |= Sending
	case o.IsRead(), o.IsAtomic(), o.IsReadResponse(), o == roce.AtomicAck:
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
