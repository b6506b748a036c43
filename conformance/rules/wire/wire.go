// Package wire holds the rules of the packet format: addresses, headers, lengths, padding, opcodes and the invariant
// CRC.
//
// Most rules judge each packet alone, where it leaves its sender; changes by the link are not judged. The rules apply
// to both ends of a connection: the requests of a half-conversation are attributed to the requester, the responses to
// the responder, and frames that belong to neither to the requester.
//
// Sources: IBTA Vol 1 chapter 9, annex A17 (RoCEv2), RFC 768, 791, 826 and 1122.
package wire

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Rules returns the WIRE rules in the order of their IDs.
func Rules() []rule.Rule {
	return []rule.Rule{
		aethPresence, aethSyndrome,
		atomicAligned,
		bthReserved, bthDestQP, bthPadding, bthPKey, bthSolicited,
		extensionLayout, extensionIdentity, extensionTruncation,
		icrcValue, icrcRewritten, icrcVectors,
		ipFragments,
		payloadLength, packetCount,
		destinationMAC,
		opcodeLayout, opcodeRegistered,
		rethLength, rethAbsent,
		udDatagram,
		udpPort, udpSourcePort, udpLength,
	}
}

// sent makes a check that calls judge for packets as their senders made them.
func sent(judge func(c *rule.Context, s *rule.Sight)) func(c *rule.Context, s *rule.Sight) {
	return func(c *rule.Context, s *rule.Sight) {
		switch {
		case asMade(c, s):
			judge(c, s)
		case c.Maker(s) == rule.Doubtful && s.Raw != nil:
			c.Doubt("a damaged frame passed: sent so, or damaged before the tap" + whose(c))
		}
	}
}

// whose returns how to tell who damaged a frame, where the place of the tap is all that is missing.
func whose(c *rule.Context) string {
	if c.Inferred {
		return ", whose place was inferred; --tap states it"
	}
	return ""
}

// asMade reports whether a sight shows a packet as its sender made it, except for fields that the network may rewrite.
// It is false if the capture kept too little of the frame to decode it.
func asMade(c *rule.Context, s *rule.Sight) bool {
	m, cut := c.Maker(s), s.Raw == nil && s.Defect() != ""
	return !cut && (m == rule.AtPort || m == rule.Sealed)
}

// sender returns the side that sent a packet.
func sender(s *rule.Sight) rule.Blame {
	if s.Point == trace.ResponderOut || s.Point == trace.RequesterIn {
		return rule.Responder
	}
	return rule.Requester
}
