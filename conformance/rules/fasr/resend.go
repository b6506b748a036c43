package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/timeout"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// The rules of this file judge retransmissions and their causes against the reference sender of sender.go.

func only(want reason) func(reason) bool { return func(r reason) bool { return r == want } }

var firstSACKAll = define(rule.Rule{
	ID: "FASR-SND-001", Level: rule.Must,
	Title: "The first SACK makes the sender retransmit everything from UNACK up to it at once, whatever lost-cnt says",
	Source: rule.Source{Ref: "FASR III-B2", Requirement: "Upon receiving the SACK, the sender will enter the loss " +
		"recovery state and immediately retransmit the packet between the unacknowledged PSN (UNACK) and the SACK, " +
		"regardless of the value of lost-cnt."},
	Needs: senderTap, Sees: ofSender, Stimulus: "one or more lost packets in a row", New: senderRule(only(onFirstSACK)),
})

var gapExactly = define(rule.Rule{
	ID: "FASR-SND-002", Level: rule.Must,
	Title: "In recovery, a gap with an increased lost-cnt makes the sender retransmit exactly the gap",
	Source: rule.Source{Ref: "FASR III-B2", Requirement: "During the loss recovery state, the sender will retransmit " +
		"the packet between SACK and sack-high only when there is a discontinuity between the received SACK and " +
		"sack-high and the lost-cnt returned by the receiver increases."},
	Needs: senderTap, Sees: ofSender, Stimulus: "two separate losses in one recovery", New: senderRule(only(onGap)),
})

var lostSACKNothing = define(rule.Rule{
	ID: "FASR-SND-003", Level: rule.MustNot,
	Title: "A gap without an increased lost-cnt, which is the loss of SACKs, does not make the sender retransmit",
	Source: rule.Source{Ref: "FASR III-B2", Requirement: "By comparing the spacing between SACK and sack-high and " +
		"the change of lost-cnt, it can be determined whether the packet is lost or SACK is lost."},
	Needs: senderTap, Sees: ofSender, Stimulus: "a lost packet, and a lost SACK behind the first",
	New: senderRule(only(noGap)),
})

var overflowGap = define(rule.Rule{
	ID: "FASR-SND-004", Level: rule.Must,
	Title: "After an overflow a gap is retransmitted although lost-cnt does not increase",
	Source: rule.Source{Ref: "FASR III-D", Requirement: "The receiver informs the sender about the lost-cnt " +
		"overflow, and the sender no longer needs lost-cnt to increase to trigger retransmission."},
	Needs: senderTap, Sees: ofSender, Stimulus: "nine lost packets in a row, and one more behind them",
	New: senderRule(only(onOverflow)),
})

var retransmissionsFirst = define(rule.Rule{
	ID: "FASR-SND-006", Level: rule.Must,
	Title: "Retransmissions leave in PSN order and before new data",
	Source: rule.Source{Ref: "FASR III-B2, III-D", Requirement: "The sender will immediately retransmit the packet; a " +
		"packet behind RCV-NXT shows that one retransmitted packet is lost, which holds only when they leave in order."},
	Needs: senderTap, Sees: ofSender, Stimulus: "lost packets in a long flow",
	New: func(c *rule.Context) rule.Check {
		m := newSender(c)
		m.judge = func(b *batch, problem string, _ *rule.Sight) {
			switch {
			case problem == "" && len(b.all) > 0:
				c.Met()
			case problem != "" && b.why == nothing:
				m.fails(problem)
			}
		}
		return m.check()
	},
})

var timeoutSlow = define(rule.Rule{
	ID: "FASR-RTO-001", Level: rule.Must,
	Title: "A timeout with a lost-cnt above 1 retransmits UNACK and every packet below sack-high that is not " +
		"known to have arrived",
	Source: rule.Source{Ref: "FASR III-B2", Requirement: "If lost-cnt is greater than 1, the UNACK will be " +
		"retransmitted immediately, and the bitmap will be consulted to identify any zeros between the UNACK and " +
		"sack-high for retransmission."},
	Needs: senderTap, Sees: ofSender, Stimulus: "several lost packets, and the loss of their retransmissions",
	New: senderRule(only(onTimeout)),
})

var timeoutFast = define(rule.Rule{
	ID: "FASR-RTO-002", Level: rule.Must,
	Title: "A timeout with a lost-cnt of 1 retransmits UNACK alone",
	Source: rule.Source{Ref: "FASR III-B2", Requirement: "If lost-cnt equals 1, only the UNACK will be retransmitted " +
		"without querying the bitmap."},
	Needs: senderTap, Sees: ofSender, Stimulus: "the same packet lost twice", New: senderRule(only(onTimeoutOne)),
})

var timeoutWindow = define(rule.Rule{
	ID: "FASR-RTO-003", Level: rule.Must,
	Title: "A timeout outside recovery retransmits from UNACK",
	Source: rule.Source{Ref: "FASR III-B2", Requirement: "If lost-cnt is 0, it indicates that all packets within the " +
		"entire window of the QP have been lost. In this case, the sender will resend starting from UNACK."},
	Needs: senderTap, Sees: ofSender, Stimulus: "a window that is lost as a whole", New: senderRule(only(onTimeoutAll)),
})

var fnackActs = define(rule.Rule{
	ID: "FASR-FNK-002", Level: rule.Must,
	Title: "An FNACK makes the sender act as on a timeout, from RCV-NXT on",
	Source: rule.Source{Ref: "FASR III-D", Requirement: "The PSN value is carried back in FNACK to notify the sender " +
		"to trigger RTO in advance and start retransmission from RCV-NXT again."},
	Needs: senderTap, Sees: ofSender, Stimulus: "the first of several retransmissions lost",
	New: senderRule(only(onFNACK)),
})

var fnackOnce = define(rule.Rule{
	ID: "FASR-FNK-003", Level: rule.Must,
	Title: "Between two ACKs the sender acts on one FNACK at most",
	Source: rule.Source{Ref: "FASR III-D", Requirement: "The sender only responds to an FNACK once before receiving " +
		"a new ACK, although the receiver may send multiple."},
	Needs: senderTap, Sees: ofSender, Stimulus: "the first of three retransmissions lost",
	New: senderRule(only(noFNACK)),
})

var isolatedCostsOne = define(rule.Rule{
	ID: "FASR-FAST-003", Level: rule.Must,
	Title: "An isolated loss costs exactly one retransmission",
	Source: rule.Source{Ref: "FASR III-B", Requirement: "If QP loses only one packet, it means the receive next " +
		"(RCV-NXT) is lost, and all subsequent packets are in order."},
	Needs: rule.Both | rule.Fates | rule.Attributes, Sees: rule.Requests | rule.Responses,
	Stimulus: "one lost packet with others behind it",
	New: func(c *rule.Context) rule.Check {
		l := lone{c: c, expired: vtime.Never, pool: pool{c: c}, clock: newClock(c)}
		return rule.Check{Sight: l.sight, Event: l.event}
	},
})

// lone tracks an isolated loss from its first transmission to its acknowledgement. Another loss, a reordering, a
// timeout or an exhausted pool ends it without a judgement.
type lone struct {
	c       *rule.Context
	open    bool       // a loss is tracked
	off     bool       // the pool was exhausted: nothing is judged any more
	psn     psn.PSN    // the lost packet
	index   uint64     // record of the loss
	at      vtime.Time // when it left
	high    psn.PSN    // newest packet that arrived behind it
	sacked  bool       // a SACK reported the loss
	sent    int        // retransmissions since the loss
	expired vtime.Time // the latest timeout; Never before
	pool    pool
	clock   *timeout.Clock
}

func (l *lone) event(e *trace.Event) {
	l.off = l.off || e.Kind == trace.Probe && e.Name == "pool_exhausted" && e.Value > 0
	l.open = l.open && e.Kind != trace.Timeout && !l.off
	if e.Kind == trace.Timeout && l.c.Mine(e) {
		l.expired = e.At
	}
}

// requester follows the timer and the pool of the requester.
func (l *lone) requester(s *rule.Sight) {
	l.clock.Sight(s)
	switch s.Relation {
	case rule.First:
		l.pool.sends(s)
	case rule.Again:
		if _, ok := l.clock.Expires(s); ok {
			l.open, l.expired = false, s.At
		}
	}
}

func (l *lone) sight(s *rule.Sight) {
	c, p := l.c, s.Pkt
	if s.Point.AtRequester() {
		l.requester(s)
	}
	switch {
	case s.Point == trace.RequesterOut && s.Rec.Lost():
		l.open = !l.open && !l.off && s.Relation == rule.First && !p.Opcode.IsRead() && sinceTimeout(s.At,
			l.expired) > c.Port.Turn
		l.psn, l.high, l.index, l.at, l.sacked, l.sent = p.PSN, p.PSN, s.Index, s.At, false, 0
	case !l.open:
	case s.Point == trace.ResponderOut && s.Rec.Lost(),
		s.Point == trace.ResponderIn && s.Relation == rule.Ahead &&
			(c.EPSN != l.psn || !s.Kept || p.PSN != l.high.Next()),
		s.Point == trace.RequesterIn && p.Opcode == roce.Acknowledge && !rule.IsACK(p):
		l.open = false
	case s.Point == trace.ResponderIn && s.Relation == rule.Ahead:
		l.high = p.PSN
	case s.Point == trace.RequesterOut && s.Relation == rule.Again && p.PSN.Less(l.psn):
		l.open = false // an older loss is repaired
	case s.Point == trace.RequesterOut && s.Relation == rule.Again:
		l.sent++
	case s.Point == trace.RequesterIn && isSACK(p):
		// Otherwise another SACK has overtaken the first.
		l.open = !p.PSN.Less(l.psn) && (l.sacked || p.SACK.PSN == l.psn.Next())
		l.sacked = l.sacked || p.PSN == l.psn
	case s.Point == trace.RequesterIn && rule.IsACK(p) && !p.PSN.Less(l.psn):
		l.close()
	}
}

func (l *lone) close() {
	l.open = false
	if !l.sacked {
		return // no SACK reported the loss
	}
	l.c.Met()
	switch {
	case l.sent == 1:
	case l.pool.may():
		l.c.Doubt(exhausted)
	default:
		l.c.FailAt(l.at, l.index, rule.Requester,
			l.c.Rel(l.psn)+" is lost alone, but the number of retransmissions is not one")
	}
}
