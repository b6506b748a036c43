package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var bthReserved = rule.Rule{
	ID: "WIRE-BTH-001", Level: rule.Must, Rests: validity.Frames,
	Title: "TVer is 0 and the reserved bits of the BTH are zero on transmit, and so are the reserved bytes of a CNP",
	Source: rule.Source{Ref: "IBTA 9.2, A17.9.3", Requirement: "The transport header version is 0, and reserved fields " +
		"are transmitted as zero and ignored on receipt"},
	Needs: rule.Frames, Sees: rule.Emitted | rule.Foreign, Stimulus: "every operation and length", BlackBox: "HW,RXE",
	Each: sent(func(c *rule.Context, s *rule.Sight) {
		p := s.Pkt
		if s.Defect() != "" || p.Opcode.OverIP() || p.Opcode == roce.LoWAR {
			return // no BTH
		}
		c.Met()
		if p.Opcode == roce.CNP && slices.ContainsFunc(p.Payload, func(b byte) bool { return b != 0 }) {
			c.Fail(sender(s), "the bytes after the BTH of a CNP are not zero; they are reserved")
		}
		if (c.Maker(s) != rule.AtPort || c.Inferred) && p.Resv6 != 0 && p.TVer|p.Resv7 == 0 {
			c.Doubt("a frame passed with reserved bits next to FECN and BECN: sent so, or rewritten before the " +
				"tap, as the ICRC allows")
			return
		}
		if p.TVer|p.Resv6|p.Resv7 != 0 {
			c.Failf(sender(s), "TVer %d, resv6 %#x, resv7 %#x, all must be 0", p.TVer, p.Resv6, p.Resv7)
		}
	}),
}

// bthDestQP needs no attributes except the QP numbers, which a bench learns even of foreign devices.
var bthDestQP = rule.Rule{
	ID: "WIRE-BTH-002", Level: rule.Must, Rests: validity.Frames,
	Title: "DestQP is the QP number of the peer, learnt at set-up",
	Source: rule.Source{Ref: "IBTA 9.2",
		Requirement: "The destination QP field holds the number of the queue pair that the packet is for"},
	Needs: rule.Frames, Sees: rule.Emitted, Stimulus: "any traffic", BlackBox: "HW,RXE",
	Each: sent(func(c *rule.Context, s *rule.Sight) {
		own, peer := c.Attr.QPN, c.PeerAttr.QPN
		if sender(s) == rule.Responder {
			own, peer = peer, own
		}
		if peer == 0 {
			return // not known
		}
		if own == 0 && connected(s.Pkt.Opcode) {
			c.Doubt("packets passed for a QP from which none came: nothing shows whose peer it is")
			return
		}
		c.Met()
		if s.Pkt.DestQP != peer {
			c.Failf(sender(s), "DestQP %#x, the peer's QP is %#x", s.Pkt.DestQP, peer)
		}
	}),
}

// connected reports whether a QP has one peer by the service type of a packet, from which packets come back. A capture
// tells the QPN of a peer by what it sends.
func connected(o roce.Opcode) bool { return o.Class() != roce.ClassUC && o.Class() != roce.ClassUD }

var bthPadding = rule.Rule{
	ID: "WIRE-BTH-003", Level: rule.Must, Rests: validity.Frames,
	Title: "PadCnt fills the payload to a multiple of four bytes, and the padding is zero",
	Source: rule.Source{Ref: "IBTA 9.2",
		Requirement: "PadCnt is the number of bytes that align the payload to four bytes; the pad bytes are zero"},
	Needs: rule.Bytes | rule.Frames, Sees: rule.Emitted | rule.Foreign, Stimulus: "every operation and length",
	BlackBox: "HW,RXE",
	Each: sent(func(c *rule.Context, s *rule.Sight) {
		if wrong := padding(s); wrong != "" {
			c.Fail(sender(s), wrong)
		} else if s.Defect() == "" && s.Pkt.Opcode.HasPayload() && s.Pkt.Layout()&roce.LayoutBTH != 0 {
			c.Met()
		}
	}),
}

// padding names the fault of a packet's padding; "" when there is none. A PadCnt that does not fill the last word is a
// defect.
func padding(s *rule.Sight) string {
	if d := s.Defect(); d != "" {
		if strings.Contains(d, "pad:") {
			return "padding: " + d
		}
		return ""
	}
	ip, _, ok := rule.Network(s.Raw)
	end := 0
	if ok {
		end = min(total(ip), len(ip)) - icrcLen
	}
	for i := max(0, end-int(s.Pkt.Pad)); i < end; i++ {
		if ip[i] != 0 {
			return "a pad byte is not zero"
		}
	}
	return ""
}

// icrcLen is the length of the invariant CRC behind the padding.
const icrcLen = 4

// bthPKey judges both directions by the sender's partition, not the receiver's. In a foreign capture that is the P_Key
// of nearly all packets of the sender.
var bthPKey = rule.Rule{
	ID: "WIRE-BTH-004", Level: rule.Must, Rests: validity.Frames,
	Title: "P_Key matches the partition of the QP in its low 15 bits",
	Source: rule.Source{Ref: "IBTA 10.9", Requirement: "Every packet carries a P_Key of the partition that its QP is a " +
		"member of; the top bit tells full from limited membership"},
	Needs: rule.Frames, Sees: rule.Emitted, Stimulus: "any traffic", BlackBox: "HW,RXE",
	Each: sent(func(c *rule.Context, s *rule.Sight) {
		own, peer := c.Attr.PKey, c.PeerAttr.PKey
		if sender(s) == rule.Responder {
			own, peer = peer, own
		}
		if own == 0 {
			return // not known
		}
		switch wrong := wrongPKey(c, s, own, peer); {
		case wrong == "":
			c.Met()
		case c.Several:
			c.Doubt(severalQPs)
		default:
			c.Fail(sender(s), wrong)
		}
	}),
}

// wrongPKey returns what is wrong with the P_Key of a packet, by those of its sender and of the other end, 0 when not
// known; "" when nothing is.
func wrongPKey(c *rule.Context, s *rule.Sight, own, peer uint16) string {
	switch key := s.Pkt.PKey; {
	case !rule.SamePartition(key, own):
		return fmt.Sprintf("P_Key %#04x, the QP's partition is %#04x", key, own)
	case c.Known || peer == 0:
	case key != own:
		return fmt.Sprintf("P_Key %#04x, its other packets have %#04x; one per QP expected", key, own)
	case sender(s) == rule.Requester: // the responder's answer shows which P_Key it accepts
	case !rule.SamePartition(own, peer):
		return fmt.Sprintf("P_Key %#04x answers requests of partition %#04x; they are to be dropped", key, peer)
	case (own|peer)&fullMember == 0:
		return fmt.Sprintf("P_Key %#04x answers %#04x: limited members cannot reach each other; the request is to be "+
			"dropped", key, peer)
	}
	return ""
}

// fullMember is the bit of a P_Key that marks a full member.
const fullMember = 0x8000

// bthSolicited is met by packets on which the bit must be clear; a packet on which it may be set shows nothing.
var bthSolicited = rule.Rule{
	ID: "WIRE-BTH-005", Level: rule.Must, Rests: validity.Frames,
	Title: "SE is set only on packets that can cause a solicited event: the LAST or ONLY of a SEND, or of a " +
		"WRITE with immediate",
	Source: rule.Source{Ref: "IBTA 9.2.3", Requirement: "The solicited event bit is set only in the last or only packet " +
		"of a SEND, or of an RDMA WRITE with immediate"},
	Needs: rule.Frames, Sees: rule.Emitted, Stimulus: "every operation and length", BlackBox: "HW,RXE",
	Each: sent(func(c *rule.Context, s *rule.Sight) {
		o := s.Pkt.Opcode
		if o.EndsMessage() && (o.IsSend() || o.IsWrite() && o.HasImm()) {
			return // either value is right
		}
		c.Met()
		if s.Pkt.SE {
			c.Failf(sender(s), "SE is set on %v; only a LAST or ONLY of a SEND or of a WRITE with immediate has it", o)
		}
	}),
}
