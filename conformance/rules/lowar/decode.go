package lowar

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/shim"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// decodes are the needs of rules about the decoder of requests: the responder's port, with bytes.
const decodes = rule.TapResponder | rule.Attributes | rule.Bytes

// decoded are the sights that those rules need.
const decoded = rule.RequestIn | rule.ResponseOut | rule.RepairIn

// accuser tracks recovered packets. The transport above has them, so it must neither ask for them again nor delay their
// acknowledgement until they are retransmitted. "Lost packets are recovered, mitigating retransmissions and the
// associated inefficiency" (LoWAR I).
type accuser struct {
	c     *rule.Context
	which func(s *rule.Sight) bool // the recovered packets that the rule judges
	open  []repaired               // recovered and not acknowledged, oldest first
	acked psn.PSN
	heard bool
}

// repaired is a recovered packet that is not acknowledged.
type repaired struct {
	psn   psn.PSN
	at    vtime.Time
	asked vtime.Time // when it, or a later request that was accepted, asked for an acknowledgement; Never before
}

// openLimit bounds the open entries; the oldest is forgotten.
const openLimit = 256

func newAccuser(c *rule.Context, which func(*rule.Sight) bool) *accuser {
	return &accuser{c: c, which: which}
}

func (a *accuser) sight(s *rule.Sight) {
	switch {
	case s.Point == trace.ResponderIn && s.Due() && s.Legal:
		a.accepted(s)
	case s.Point == trace.ResponderIn && s.Relation == rule.Duplicate && coded(s.Pkt.Opcode):
		a.sentAgain(s)
	case s.Point == trace.ResponderOut:
		a.response(s)
	}
}

// accepted records a recovered packet, and that a request asks for the acknowledgement of all before it.
func (a *accuser) accepted(s *rule.Sight) {
	if s.Recovered && a.which(s) {
		a.c.Met()
		if len(a.open) == openLimit {
			a.open = a.open[:copy(a.open, a.open[1:])]
		}
		a.open = append(a.open, repaired{s.Pkt.PSN, s.At, vtime.Never})
	}
	for i := range a.open {
		if s.Pkt.AckReq && a.open[i].asked == vtime.Never {
			a.open[i].asked = s.At
		}
	}
}

// sentAgain judges a recovered packet that arrives again. The timer, another loss or a NAK sent before the recovery may
// have caused that. It is the responder's fault if an acknowledgement was asked for and not sent, although there was
// time.
func (a *accuser) sentAgain(s *rule.Sight) {
	for i, r := range a.open {
		if r.psn != s.Pkt.PSN {
			continue
		}
		if s.Rec.Sent == vtime.Never || s.Rec.Sent <= r.at {
			return // it may have left before the repair packet arrived
		}
		if r.asked != vtime.Never && a.c.Late(rule.Responder, r.asked, rule.Patience, s.At) && !a.c.Fatal && !a.c.RNRWait {
			a.c.Failf(rule.Responder,
				"sent again %s after it was recovered; its acknowledgement expected first", micros(s.At.Sub(r.at)))
		}
		a.open = a.open[:i+copy(a.open[i:], a.open[i+1:])]
		return
	}
}

func (a *accuser) response(s *rule.Sight) {
	last, ok := rule.Acknowledged(s.Pkt)
	if !ok {
		return
	}
	if rule.IsNAK(s.Pkt) {
		for i, r := range a.open {
			if r.psn == s.Pkt.PSN {
				a.c.Failf(rule.Responder, "asks for %s, which was recovered %s before; its acknowledgement expected",
					a.c.Request(r.psn), micros(s.At.Sub(r.at)))
				a.open = a.open[:i+copy(a.open[i:], a.open[i+1:])]
				return
			}
		}
	}
	kept := a.open[:0]
	for _, r := range a.open {
		if last.Less(r.psn) {
			kept = append(kept, r)
		}
	}
	a.open = kept
}

// check reports nothing at the end: packets that are not acknowledged may not have requested it.
func (a *accuser) check() rule.Check { return rule.Check{Sight: a.sight} }

var recovered = define(rule.Rule{
	ID:    "LOWAR-DEC-001",
	Title: "A packet that alone is missing from a unit whose repair packet comes is recovered: no NAK, no retransmission",
	Source: rule.Source{Ref: "LOWAR IV-B2", Requirement: "When a repair packet is received, and only one data " +
		"packets that encode the repair packet is lost, XORing the repair packet with its corresponding decoding " +
		"units will recover the lost packet."},
	Needs: decodes, Sees: decoded, Stimulus: "each packet of a block lost in turn",
	New: func(c *rule.Context) rule.Check {
		return newAccuser(c, func(*rule.Sight) bool { return true }).check()
	},
})

var firstRecovered = define(rule.Rule{
	ID:    "LOWAR-DEC-003",
	Title: "The loss of the first packet of a block does not keep the block from being decoded",
	Source: rule.Source{Ref: "LOWAR IV-B2", Requirement: "The absence of the first packet in a coding block " +
		"won’t obstruct the entire decoding, as the decoding units used for recovering lost packets are " +
		"specified by ISN and bPSN recorded in repair packets."},
	Needs: decodes, Sees: decoded, Stimulus: "the first packet of a message lost",
	New: func(c *rule.Context) rule.Check {
		base := psn.PSN(0)
		a := newAccuser(c, func(s *rule.Sight) bool { return s.Pkt.PSN == base && !s.Pkt.Opcode.IsOnly() })
		return rule.Check{Sight: func(s *rule.Sight) {
			if isRepair(s.Pkt) {
				base = s.Pkt.Repair.Base
			}
			a.sight(s)
		}}
	},
})

var burstRecovered = define(rule.Rule{
	ID:    "LOWAR-DEC-004",
	Title: "A burst of up to c losses in a row within a block and its repair packets is recovered completely",
	Source: rule.Source{Ref: "LOWAR III, VI-A", Requirement: "The interleaved XOR-based code can create multiple " +
		"repair packets from one single coding block, showing loss tolerance for bursty losses as well."},
	Needs: decodes | rule.Both | rule.Fates, Sees: decoded | rule.RequestOut | rule.RepairOut,
	Stimulus: "bursts of every length up to 8 at (64, 8)",
	New: func(c *rule.Context) rule.Check {
		b := bursts{c: c, st: newStream(c, false), last: map[psn.PSN]bool{}, owed: map[psn.PSN]bool{}}
		b.a = newAccuser(c, func(s *rule.Sight) bool { return b.owed[s.Pkt.PSN] })
		b.st.data = func(s *rule.Sight, _ *block) {
			if s.Relation == rule.First && s.Rec.Lost() {
				b.last[s.Pkt.PSN] = true
			}
		}
		b.st.repair = b.repair
		return rule.Check{Sight: b.sight, Event: b.st.event}
	},
})

// bursts finds the lost packets that repair packets cover, from the sender's side and the fates alone.
type bursts struct {
	c        *rule.Context
	st       *stream
	a        *accuser
	last     map[psn.PSN]bool // lost packets of the incomplete block
	owed     map[psn.PSN]bool // lost packets of a burst that can be recovered
	failures int              // of the decoder, at the latest sight
}

// repair processes the last repair packet of a block.
func (b *bursts) repair(s *rule.Sight, h *roce.Repair, k *block) {
	if !k.complete() || h.Base != k.base || k.repairs != k.want()-1 {
		return
	}
	burst := run(append(k.drops, s.Rec.Lost()))
	if len(b.owed) > openLimit {
		clear(b.owed)
	}
	for p := k.base; p != k.end(); p = p.Next() {
		if delete(b.owed, p); b.last[p] && !k.again && burst >= 2 && burst <= k.c {
			b.owed[p] = true
		}
	}
	clear(b.last)
}

func (b *bursts) sight(s *rule.Sight) {
	b.st.sight(s)
	b.a.sight(s)
	d := b.c.Decoders[0]
	if d.Failures == b.failures {
		return
	}
	if b.failures = d.Failures; d.Why == shim.FailedUnit {
		b.unit(d.Lacking)
	}
	clear(b.owed)
}

// unit judges a unit of which two packets or more are missing. One that the burst did not take is late: a repair packet
// that overtakes packets of its unit is the link's doing.
func (b *bursts) unit(missing []psn.PSN) {
	var taken []psn.PSN
	for _, p := range missing {
		if b.owed[p] {
			taken = append(taken, p)
		}
	}
	if len(taken) >= 2 {
		b.c.Failf(rule.Requester, "%s cannot be recovered: the burst took two packets of its unit; one at most "+
			"expected, as it is no longer than c", b.c.Request(taken[0]))
	}
}

// micros prints the time between two packets, in microseconds with three decimals.
func micros(d vtime.Duration) string { return vtime.Time(d).Micros() + " us" }

// run returns the length of the losses if they form one run; otherwise 0.
func run(drops []bool) int {
	first, last, n := -1, -1, 0
	for i, gone := range drops {
		if gone {
			if first < 0 {
				first = i
			}
			last = i
			n++
		}
	}
	if n == 0 || last-first+1 != n {
		return 0
	}
	return n
}
