package wire

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var rethLength = rule.Rule{
	ID: "WIRE-RETH-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "A RETH is on WRITE FIRST and ONLY and on READ_REQUEST; its DMALen is the length of the message, on a " +
		"READ retry the length that remains",
	Source: rule.Source{Ref: "IBTA 9.3.3", Requirement: "The RETH of the first or only packet gives address, key and " +
		"the length in bytes of the whole operation"},
	Needs: rule.TapRequester, Sees: rule.RequestOut, Wakes: rule.Writing | rule.Fetch,
	Stimulus: "every operation and length", BlackBox: "HW,RXE",
	New: func(c *rule.Context) rule.Check {
		r := announced{c: c}
		return rule.Check{Sight: r.sight, Event: r.event}
	},
}

// postedLimit bounds the work requests remembered; it is far above any queue depth.
const postedLimit = 1 << 16

// announced compares the lengths that RETHs announce with the work requests, where reported, and with the payload.
type announced struct {
	c      *rule.Context
	posted []uint32 // lengths of WRITEs and READs posted and not yet sent, oldest first
	open   bool     // inside a WRITE
	want   int      // its DMALen
	sum    int      // its payload so far
}

func (r *announced) event(e *trace.Event) {
	if e.Kind != trace.Post || !r.c.Mine(e) || len(r.posted) == postedLimit {
		return
	}
	switch e.Body.Op {
	case engine.OpWrite, engine.OpWriteImm, engine.OpRead:
		r.posted = append(r.posted, e.Len)
	}
}

func (r *announced) sight(s *rule.Sight) {
	p := s.Pkt
	switch {
	case !p.Opcode.IsWrite() && !p.Opcode.IsRead():
	case s.Relation == rule.Again:
		r.again(s)
	case s.Relation == rule.First:
		if p.Opcode.StartsMessage() {
			r.begin(p)
		}
		if p.Opcode.IsWrite() && r.open {
			r.add(p)
		}
	}
}

// again judges the retry of a READ, which asks for the bytes from its PSN on.
func (r *announced) again(s *rule.Sight) {
	if !s.Pkt.Opcode.IsRead() || s.Sent == nil || !s.Sent.Opcode.IsRead() {
		return
	}
	r.c.Met()
	if got := int(s.Pkt.RETH.DMALen); got != s.Sent.Len {
		r.c.Failf(rule.Requester, "READ retry at %s asks for %d bytes, %d remain", r.c.Rel(s.Pkt.PSN), got, s.Sent.Len)
	}
}

// begin compares a RETH with its work request.
func (r *announced) begin(p *roce.Packet) {
	r.open, r.want, r.sum = p.Opcode.IsWrite(), int(p.RETH.DMALen), 0
	if len(r.posted) == 0 {
		return
	}
	r.c.Met()
	if n := r.posted[0]; n != p.RETH.DMALen {
		r.c.Failf(rule.Requester, "DMALen %d, the work request has %d bytes", p.RETH.DMALen, n)
	}
	r.posted = r.posted[:copy(r.posted, r.posted[1:])]
}

// add adds the payload of a WRITE packet, and compares the sum at the end.
func (r *announced) add(p *roce.Packet) {
	r.sum += p.Len
	if !p.Opcode.EndsMessage() {
		return
	}
	r.open = false
	r.c.Met()
	if r.sum != r.want {
		r.c.Failf(rule.Requester, "DMALen %d, the packets of the WRITE carry %d bytes", r.want, r.sum)
	}
}

var rethAbsent = rule.Rule{
	ID: "WIRE-RETH-002", Level: rule.MustNot, Rests: validity.Frames,
	Title: "WRITE MIDDLE and LAST of the RC class carry no RETH",
	Source: rule.Source{Ref: "IBTA 9.3.3, table 35", Requirement: "Only the first or only packet of an RDMA WRITE has a " +
		"RETH; the responder counts the address on for the others"},
	Needs: rule.TapRequester, Sees: rule.RequestOut, Wakes: rule.Writing, Stimulus: "every operation and length",
	BlackBox: "HW,RXE",
	New: func(c *rule.Context) rule.Check {
		const reth = 16
		sum, want := 0, -1
		return rule.Check{Sight: func(s *rule.Sight) {
			p := s.Pkt
			if !p.Opcode.IsWrite() || p.Opcode.Class() != roce.ClassRC || s.Relation != rule.First {
				return
			}
			if p.Opcode.StartsMessage() {
				sum, want = p.Len, int(p.RETH.DMALen)
				return
			}
			sum += p.Len
			// An extra header shows as sixteen bytes too many of payload.
			tooLong := p.Opcode.IsMiddle() && c.MTU > 0 && p.Len == c.MTU+reth
			if tooLong || p.Opcode.IsLast() && want >= 0 && sum == want+reth {
				c.Failf(rule.Requester, "%v has the %d bytes of a RETH more than its payload", p.Opcode, reth)
				sum -= reth
				return
			}
			c.Met()
		}}
	},
}
