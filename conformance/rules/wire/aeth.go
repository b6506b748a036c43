package wire

import (
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// aethPresence remembers the READs that arrived: only their lengths give the expected lengths of the responses.
var aethPresence = rule.Rule{
	ID: "WIRE-AETH-001", Level: rule.Must, Rests: validity.Frames,
	Title: "An AETH is on ACK and on READ_RESP FIRST, LAST and ONLY, and absent on READ_RESP MIDDLE of the RC class",
	Source: rule.Source{Ref: "IBTA 9.3.5, table 35", Requirement: "Acknowledgements and the first, last or only packet " +
		"of a READ response carry an AETH; middle packets do not"},
	Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut | rule.Foreign,
	Minds: rule.Odd | rule.Fetch | rule.Answer, Stimulus: "every operation and length", BlackBox: "HW,RXE",
	Keeps: true, Each: func(c *rule.Context, s *rule.Sight) {
		switch p := s.Pkt; {
		case s.Defect() != "":
			if s.Out && rule.HasAETH(p.Opcode) && cutAt(s.Defect(), "aeth") {
				c.Fail(sender(s), "a response ends before its AETH: "+s.Defect())
			}
		case s.Point == trace.ResponderOut && p.Opcode.Class() == roce.ClassRC:
			judgeAETH(c, p)
		case s.Point == trace.ResponderIn && p.Opcode.IsRead() && s.Intact():
			rule.State[reads](c).add(c, p)
		}
	},
}

// judgeAETH infers from the length whether the header is there: a missing header makes the payload four bytes too
// short, an extra one four bytes too long. Where data are four bytes short for another reason, what is in the place of
// the AETH reads like one.
func judgeAETH(c *rule.Context, p *roce.Packet) {
	const aeth = 4
	if !p.Opcode.IsReadResponse() {
		c.Met()
		return
	}
	want, ok := rule.State[reads](c).payload(p.PSN, c.MTU)
	if !ok {
		return
	}
	c.Met()
	switch {
	case !rule.HasAETH(p.Opcode) && p.Len == want+aeth:
		c.Failf(rule.Responder, "%v has the %d bytes of an AETH more than its payload", p.Opcode, aeth)
	case rule.HasAETH(p.Opcode) && p.Len == want-aeth && !likely(c, p.AETH):
		c.Failf(rule.Responder, "%v lacks its AETH: %d bytes of payload where %d were asked for", p.Opcode, p.Len, want)
	}
}

// likely reports whether the word in the place of a READ response's AETH may be one: it acknowledges, and its MSN is
// recent. Where the first requests were not seen, every MSN may be.
func likely(c *rule.Context, a roce.AETH) bool {
	const recent = 1 << 10
	behind := c.MSN.Sub(a.MSN)
	return a.Syndrome.IsACK() && (!c.Known || behind >= 0 && behind < recent)
}

var aethSyndrome = rule.Rule{
	ID: "WIRE-AETH-002", Level: rule.Must, Rests: validity.Frames,
	Title: "A syndrome is ACK (000), RNR NAK (001) or NAK (011) with a code up to 4; 010 is never sent",
	Source: rule.Source{Ref: "IBTA 9.3.5, table 43", Requirement: "The top bits of the syndrome tell ACK, RNR NAK and " +
		"NAK apart; the other values and NAK codes above 4 are reserved"},
	Needs: rule.TapResponder | rule.Frames, Sees: rule.ResponseOut, Stimulus: "any traffic", BlackBox: "HW,RXE",
	Each: sent(func(c *rule.Context, s *rule.Sight) {
		if !rule.HasAETH(s.Pkt.Opcode) {
			return
		}
		c.Met()
		if a := s.Pkt.AETH.Syndrome; rule.IsReserved(a) {
			c.Failf(rule.Responder, "syndrome %#02x is reserved; an ACK, RNR NAK or NAK expected", uint8(a))
		}
	}),
}

// cutAt reports whether the defect of a frame is that a header is missing in whole or in part. If the whole header is
// missing, the ICRC is in its place, and the decoder reports a missing ICRC.
func cutAt(defect, header string) bool {
	return strings.Contains(defect, " "+header+":") || strings.Contains(defect, " icrc:")
}
