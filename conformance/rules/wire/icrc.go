package wire

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// icrcValue relies on the observer's own computation, which icrcVectors and the tests of package roce check against
// captures.
var icrcValue = rule.Rule{
	ID: "WIRE-ICRC-001", Level: rule.Must, Rests: validity.Frames,
	Title: "The ICRC is right: CRC-32 over eight bytes of ones and the packet with its variant fields " +
		"masked, little-endian",
	Source: rule.Source{Ref: "IBTA A17.3.3", Requirement: "The invariant CRC covers the packet from the IP header on, " +
		"with the fields that may change in transit replaced by ones"},
	Needs: rule.Bytes | rule.Frames, Sees: rule.Emitted | rule.Foreign, Stimulus: "every operation and length",
	BlackBox: "HW,RXE",
	Each: func(c *rule.Context, s *rule.Sight) {
		made := c.Maker(s)
		switch {
		case made == rule.Elsewhere, s.Defect() != "": // the place of the ICRC is not known
		case s.ICRC == trace.Good:
			c.Met()
		case s.ICRC == trace.Bad && made == rule.Doubtful:
			c.Doubt("a frame passed with a wrong ICRC: sent so, or damaged before the tap" + whose(c))
		case s.ICRC == trace.Bad:
			c.Fail(sender(s), "the ICRC is wrong as sent; that of the bytes expected")
		}
	},
}

// icrcRewritten compares the two forms of a packet that the network changed. It is met only when the packet is served,
// because a valid ICRC is of no use if the receiver drops the packet.
var icrcRewritten = rule.Rule{
	ID: "WIRE-ICRC-002", Level: rule.Must,
	Title: "The ICRC stays valid when the network changes TTL, DSCP, ECN, UDP checksum, FECN and BECN, and " +
		"the packet is served",
	Source: rule.Source{Ref: "IBTA A17.3.3", Requirement: "Fields that routers and switches may rewrite are outside the " +
		"invariant CRC, so rewriting them does not invalidate a packet"},
	Needs: rule.Both | rule.Fates | rule.Bytes, Sees: rule.RequestIn | rule.Responses, Wakes: rule.Odd, Dozes: true,
	Stimulus: "fields that the network rewrites on the way", BlackBox: "HW,RXE",
	New: func(c *rule.Context) rule.Check {
		r := rewrite{c: c, owed: c.Owes(rule.Responder,
			"a packet that was rewritten in transit is never acknowledged; the ICRC does not cover "+
				"that field, so an ACK is expected")}
		r.owed.Unless = func(rule.Debt) bool { return !r.asked }
		return rule.Check{Sight: r.sight}
	},
}

// rewrite tracks the oldest rewritten request that has no answer.
type rewrite struct {
	c     *rule.Context
	owed  *rule.Obligation // its answer
	asked bool             // the request asked for an acknowledgement
}

func (r *rewrite) sight(s *rule.Sight) {
	switch {
	case s.Point == trace.ResponderOut:
		r.answer(s.Pkt)
	case s.Rec.Changed == nil || s.ICRC != trace.Good || !rewritten(s.Rec.Raw, s.Raw):
	case s.Point == trace.RequesterIn:
		r.c.Met()
	case s.Legal && !r.owed.Owed():
		r.asked = s.Pkt.AckReq
		r.owed.Arise(s, s.Pkt.PSN)
	}
}

// answer settles the request when a response acknowledges or refuses it.
func (r *rewrite) answer(p *roce.Packet) {
	about := r.owed.Oldest()
	switch {
	case about == nil:
	case p.PSN.Less(about.PSN):
		if rule.IsRNR(p) || rule.IsFatalNAK(p) {
			r.owed.Excuse(nil) // an earlier request was refused, and none behind it is served
		}
	case rule.IsNAK(p) && p.PSN == about.PSN:
		r.c.Failf(rule.Responder, "%s was rewritten in transit and then asked for again; the ICRC does not "+
			"cover that field, so an ACK is expected", r.c.Rel(p.PSN))
		r.owed.Excuse(nil)
	default:
		r.owed.Discharge(nil)
	}
}

// rewritten reports whether two forms of a frame differ only in fields outside the ICRC: TOS, TTL and header checksum
// or their IPv6 counterparts, the UDP checksum, and the BTH byte of FECN and BECN.
func rewritten(sent, got []byte) bool {
	a, udp, ok := rule.Network(sent)
	b, _, also := rule.Network(got)
	if !ok || !also || len(a) != len(b) {
		return false
	}
	differ := false
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		if !variant(i, udp) {
			return false
		}
		differ = true
	}
	return differ
}

// variant reports whether byte i of a packet may change in transit, given where its UDP header begins.
func variant(i, udp int) bool {
	const checksum, bthFlags = 6, 8 + 4 // from the beginning of the UDP header
	switch i - udp {
	case checksum, checksum + 1, bthFlags:
		return true
	}
	if udp == 40 {
		return i < 4 || i == 7
	}
	return i == 1 || i == 8 || i == 10 || i == 11
}

// icrcVectors judges ICRCs that an endpoint computed with its own code: probes icrc_vector_a and icrc_vector_b, the
// four bytes on the wire as a little-endian number.
var icrcVectors = rule.Rule{
	ID: "WIRE-ICRC-003", Level: rule.Must, Rests: validity.Frames,
	Title: "Two frames captured from hardware reproduce their ICRC bit for bit",
	Source: rule.Source{Ref: "IBTA A17.3.3", Requirement: "A UC SEND_ONLY ends in 78 f3 53 f3 and a ConnectX-4 CNP in " +
		"82 fd 00 2a, as published captures show"},
	Needs: rule.Probes, Stimulus: "an endpoint that reports the ICRC of two known frames", BlackBox: "ENG",
	New: func(c *rule.Context) rule.Check {
		vectors := map[string]uint32{"icrc_vector_a": 0xF353F378, "icrc_vector_b": 0x2A00FD82}
		return rule.Check{Event: func(e *trace.Event) {
			want, ok := vectors[e.Name]
			if !ok || e.Kind != trace.Probe || !c.Mine(e) {
				return
			}
			c.Met()
			if uint32(e.Value) != want {
				c.Failf(rule.Requester, "%s gives %#08x, the capture has %#08x (read little-endian)", e.Name, uint32(e.Value), want)
			}
		}}
	},
}
