package lowar

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var freshBlock = encoder("LOWAR-ENC-009",
	"A retransmission begins a block at its PSN, and the block that it interrupts has no repair packets",
	"LOWAR IV-B2", "Packet decoding [...] in LoWAR is virtually its mirror; LoWAR will pass it to RDMA stacks to "+
		"activate GBN retransmission and stop tracking the connection until its retransmission arrives.",
	"a loss that cannot be repaired",
	func(c *rule.Context, st *stream) {
		st.repair = func(_ *rule.Sight, h *roce.Repair, b *block) {
			switch {
			case st.broken && h.Base == st.interrupted && h.Base != b.base:
				c.Failf(rule.Requester,
					"codes the block at %s, which the retransmission from %s interrupted; none expected",
					c.Rel(h.Base), c.Rel(b.base))
			case !b.again || !b.complete():
			case h.Base != b.base && h.Base.Less(b.end()):
				c.Failf(rule.Requester,
					"codes the block at %s; the block of the retransmission at %s expected",
					c.Rel(h.Base), c.Rel(b.base))
			default:
				c.Met()
			}
		}
	})

var responsesCoded = define(rule.Rule{
	ID:    "LOWAR-ENC-010",
	Title: "READ responses are coded by the responder, and their repair packets are marked as such",
	Source: rule.Source{Ref: "LOWAR IV-A", Requirement: "In the TX path (in this paper, mainly referring to " +
		"WRITE and READ Response semantics), [...] the Encoding Controller identifies messages and routes them " +
		"to the Encoding Buffer for FEC calculation."},
	Needs: rule.TapResponder | rule.Attributes, Sees: rule.ResponseOut | rule.RepairOut,
	Stimulus: "a READ of 61 packets",
	New: func(c *rule.Context) rule.Check {
		st := newStream(c, true)
		st.repair = func(_ *rule.Sight, h *roce.Repair, b *block) {
			switch {
			case !b.complete():
				c.Failf(rule.Responder, "follows READ response %d of the block at %s; response %d, or the "+
					"last, expected first", b.n, c.Rel(b.base), b.r)
			case h.Base == b.base && int(h.N) == b.n:
				c.Met()
			default:
				c.Failf(rule.Responder, "bPSN %s and N %d, want those of the READ responses, %s and %d",
					c.Rel(h.Base), h.N, c.Rel(b.base), b.n)
			}
		}
		st.short = func(b *block) {
			c.FailAt(b.at, b.index, rule.Responder,
				fmt.Sprintf("ends the block of READ responses at %s: got %d of %d repair packets", c.Rel(b.base),
					b.repairs, b.want()))
		}
		return st.check()
	},
})

var uncoded = define(rule.Rule{
	ID: "LOWAR-ENC-011", Level: rule.MustNot, Rests: validity.Sequence,
	Title: "ACKs, NAKs, READ requests and atomics are not coded",
	Source: rule.Source{Ref: "LOWAR IV-A", Requirement: "In the TX path (in this paper, mainly referring to " +
		"WRITE and READ Response semantics)."},
	Needs: rule.TapRequester, Sees: rule.RequestOut | rule.ResponseOut | rule.RepairOut,
	Stimulus: "READs, atomics and acknowledgements",
	New: func(c *rule.Context) rule.Check {
		var bare [2]psn.PSN // the latest uncoded packet of each direction
		var any [2]bool
		return rule.Check{Sight: func(s *rule.Sight) {
			k, p := 0, s.Pkt
			if s.Point == trace.ResponderOut {
				k = 1
			}
			switch {
			case !s.Out || !s.Intact():
			case isRepair(p):
				if h := &p.Repair; any[k] && bare[k].In(h.Base, h.Base.Add(max(1, int(h.N)))) {
					c.Failf(blame(k == 1), "codes %s, which is not data; no repair packet expected", c.Rel(bare[k]))
				}
			case p.Opcode != roce.LoWAR && coded(p.Opcode):
				any[k] = any[k] && p.PSN != bare[k]
			case p.Opcode != roce.LoWAR:
				c.Met()
				bare[k], any[k] = p.PSN, true
			}
		}}
	},
})
