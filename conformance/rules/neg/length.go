package neg

import (
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// defective reports whether the bytes of a packet do not decode for the given reason.
func defective(s *rule.Sight, reason string) bool { return strings.Contains(s.Defect(), reason) }

// truncated counts the bytes present. A frame cut by the link still has its old length fields, and so fails the check
// of NEG-LEN-002 first.
var truncated = rule.Rule{
	ID: "NEG-LEN-001", Level: rule.Must,
	Title: "A packet shorter than BTH and ICRC, or than the headers of its opcode, is dropped silently",
	Source: rule.Source{Ref: "IBTA 9.6.1, soft-RoCE",
		Requirement: "A packet that is too short for the headers that its opcode calls for is discarded"},
	Needs: rule.TapResponder | rule.Bytes, Sees: rule.RequestIn | rule.ResponseOut | rule.Foreign,
	Wakes: rule.Odd, Dozes: true,
	Stimulus: "packets truncated at each byte", BlackBox: "HW,RXE",
	New: silently("truncated packet", func(_ *rule.Context, s *rule.Sight) bool {
		return defective(s, roce.ErrTruncated.Error()) || s.Defect() != "" && holdsTooLittle(s.Raw)
	}),
}

// holdsTooLittle reports whether the bytes after the UDP header, whatever the length fields are, cannot hold BTH and
// ICRC, or the headers of the opcode.
func holdsTooLittle(raw []byte) bool {
	const bth, icrc = 12, 4
	ip, udp, ok := rule.Network(raw)
	present := len(ip) - udp - 8
	return ok && (present < bth+icrc || present < roce.Opcode(ip[udp+8]).HeaderLen()+icrc)
}

var lengthFields = rule.Rule{
	ID: "NEG-LEN-002", Level: rule.Must,
	Title: "A packet whose UDP or IP length differs from the bytes present is dropped",
	Source: rule.Source{Ref: "IBTA A17.3.1, RFC 768, RFC 791", Requirement: "The lengths of IP and UDP determine how " +
		"many bytes the InfiniBand packet has; one that contradicts them is discarded"},
	Needs: rule.TapResponder | rule.Bytes, Sees: rule.RequestIn | rule.ResponseOut | rule.Foreign,
	Wakes: rule.Odd, Dozes: true,
	Stimulus: "a packet whose UDP or IP length is wrong", BlackBox: "HW,RXE",
	New: silently("packet with a wrong IP or UDP length", func(_ *rule.Context, s *rule.Sight) bool {
		return defective(s, "ip length:") || defective(s, "udp length:")
	}),
}

var notFull = rule.Rule{
	ID: "NEG-LEN-003", Level: rule.Must,
	Title: "A FIRST or MIDDLE whose payload is not one MTU draws NAK 0x61",
	Source: rule.Source{Ref: "IBTA 9.7.4.1.7, soft-RoCE",
		Requirement: "The payload of a first or middle packet must be the path MTU, otherwise the request is invalid"},
	Needs: rule.TapResponder, Sees: rule.Accepts | rule.ResponseOut, Wakes: rule.Faulty, Dozes: true,
	Stimulus: "a FIRST or MIDDLE that is not full", BlackBox: "HW,RXE",
	New: invalid("FIRST or MIDDLE of another length than the MTU", func(s *rule.Sight) bool {
		return s.Reason == rule.FaultNotFull || s.Reason == rule.FaultTooLong && !s.Pkt.Opcode.EndsMessage()
	}),
}

var emptyOrLong = rule.Rule{
	ID: "NEG-LEN-004", Level: rule.Must,
	Title: "A LAST without payload, and a LAST or ONLY longer than the MTU, draw NAK 0x61",
	Source: rule.Source{Ref: "IBTA 9.7.4.1.7, soft-RoCE", Requirement: "The last packet of several has 1 to MTU bytes, " +
		"an only packet 0 to MTU, otherwise the request is invalid"},
	Needs: rule.TapResponder, Sees: rule.Accepts | rule.ResponseOut, Wakes: rule.Faulty, Dozes: true,
	Stimulus: "an empty LAST, or a LAST or ONLY beyond the MTU", BlackBox: "HW,RXE",
	New: invalid("LAST or ONLY of an impossible length", func(s *rule.Sight) bool {
		return s.Reason == rule.FaultEmptyLast || s.Reason == rule.FaultTooLong && s.Pkt.Opcode.EndsMessage()
	}),
}

var wrongDMALen = rule.Rule{
	ID: "NEG-LEN-005", Level: rule.Must,
	Title: "A WRITE whose payload does not add up to DMALen, short or long, draws NAK 0x61 and not 0x62",
	Source: rule.Source{Ref: "IBTA 9.7.4.1.7, soft-RoCE", Requirement: "The payloads of an RDMA WRITE must add up to " +
		"the DMA length of its RETH, otherwise the request is invalid"},
	Needs: rule.TapResponder, Sees: rule.Accepts | rule.ResponseOut, Wakes: rule.Faulty, Dozes: true,
	Stimulus: "a WRITE whose payload does not add up to its DMALen", BlackBox: "HW,RXE",
	New: invalid("WRITE that does not add up to DMALen", func(s *rule.Sight) bool {
		return s.Reason == rule.FaultDMALen
	}),
}

// longSend tracks the receives that the responder's application posted, in order.
var longSend = rule.Rule{
	ID: "NEG-LEN-006", Level: rule.Must,
	Title: "A SEND longer than the receive WQE draws NAK 0x61, and the receive completes with a local length error",
	Source: rule.Source{Ref: "IBTA 9.7.5.2.7", Requirement: "When a SEND is longer than the receive buffer, the " +
		"responder returns NAK invalid request and completes the receive in error"},
	Needs: rule.TapResponder | rule.Posted, Sees: rule.Accepts | rule.ResponseOut,
	Stimulus: "a SEND longer than its receive", BlackBox: "HW,RXE",
	New: func(c *rule.Context) rule.Check {
		b := buffers{c: c, owed: c.Owes(rule.Responder, "the receive that a SEND overran never completes; an error expected")}
		b.owed.Promised, b.owed.Unless = true, func(rule.Debt) bool { return !c.Offers(rule.Receives) }
		refused := (&refusal{c: c, what: "SEND longer than the receive", code: roce.SyndromeInvalidReq,
			bad: b.overrun}).check()
		return rule.Check{
			Sight: func(s *rule.Sight) { b.sight(s, refused) },
			Event: func(e *trace.Event) { b.event(e); refused.Event(e) },
		}
	},
}

// buffers holds the receives posted at the responder; every SEND and every immediate takes the oldest.
type buffers struct {
	c       *rule.Context
	posted  []uint32         // lengths, oldest first
	current int              // length of the buffer that the open SEND fills; -1 when not known
	owed    *rule.Obligation // the completion of the receive that a SEND overran
}

// overrun returns 1 if a request overflows its buffer, because the NAK names that request; otherwise 0.
func (b *buffers) overrun(s *rule.Sight) int {
	size := b.current
	if s.Pkt.Opcode.StartsMessage() {
		size = -1
		if len(b.posted) > 0 {
			size = int(b.posted[0])
		}
	}
	if s.Legal && s.Pkt.Opcode.IsSend() && size >= 0 && b.c.Filled(s.Pkt)+s.Pkt.Len > size {
		return 1
	}
	return 0
}

// sight passes a sight to the refusal first, and then fills the buffer.
func (b *buffers) sight(s *rule.Sight, refused rule.Check) {
	refused.Sight(s)
	if s.Point != trace.ResponderIn || !s.Due() || !s.Legal || b.c.Fatal {
		return
	}
	if b.overrun(s) > 0 {
		b.owed.Arise(s, s.Pkt.PSN)
	}
	if s.Pkt.Opcode.StartsMessage() {
		b.current = -1
	}
	if s.Pkt.Opcode.TakesReceive() && len(b.posted) > 0 {
		b.current = int(b.posted[0])
		b.posted = b.posted[:copy(b.posted, b.posted[1:])]
	}
}

// event tracks the receives, and judges the completion of one that was overrun.
func (b *buffers) event(e *trace.Event) {
	switch {
	case b.c.Mine(e):
	case e.Kind == trace.Receive && len(b.posted) < 1<<16:
		b.posted = append(b.posted, e.Len)
	case e.Kind == trace.Recv && b.owed.Owed():
		b.owed.Excuse(nil)
		if e.Body.Status != engine.StatusLocalLength {
			b.c.Failf(rule.Responder, "the receive that a SEND overran completes with %v, must be %v",
				e.Body.Status, engine.StatusLocalLength)
		}
	}
}

var hugeDMALen = rule.Rule{
	ID: "NEG-LEN-007", Level: rule.Must,
	Title: "A request with a DMALen beyond 2^31 draws NAK 0x61",
	Source: rule.Source{Ref: "IBTA 9.7.4.1.7, soft-RoCE",
		Requirement: "A message has at most 2^31 bytes; a longer DMA length makes the request invalid"},
	Needs: rule.TapResponder, Sees: rule.Accepts | rule.ResponseOut, Wakes: rule.Faulty, Dozes: true,
	Stimulus: "a DMALen beyond 2^31", BlackBox: "RXE,ENG",
	New: invalid("request with a DMALen beyond 2^31", func(s *rule.Sight) bool {
		return s.Reason == rule.FaultHuge
	}),
}

// wrongPadding judges packets that are not whole words. A wrong PadCnt in a packet of whole words only changes the
// length of the payload, which NEG-LEN-003 to 005 judge.
var wrongPadding = rule.Rule{
	ID: "NEG-LEN-008", Level: rule.Must,
	Title: "A packet whose PadCnt contradicts its length is refused with NAK 0x61 or dropped, and never executed",
	Source: rule.Source{Ref: "IBTA 9.7.4.1.7, soft-RoCE",
		Requirement: "Packets are whole words; a pad count that leaves a payload of another length is a length error"},
	Needs: rule.TapResponder | rule.Bytes, Sees: rule.RequestIn | rule.ResponseOut | rule.Foreign,
	Wakes: rule.Odd, Dozes: true,
	Stimulus: "a PadCnt that contradicts the length", BlackBox: "RXE,ENG",
	New: func(c *rule.Context) rule.Check {
		return (&silence{c: c, what: "packet with a wrong PadCnt", allow: roce.SyndromeInvalidReq,
			bad: func(_ *rule.Context, s *rule.Sight) bool { return defective(s, "pad:") }}).check()
	},
}
