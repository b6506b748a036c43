package fasr

import (
	"maps"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/timeout"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// reason is the cause of a retransmission, or of a demand not to retransmit.
type reason uint8

const (
	nothing      reason = iota
	onFirstSACK         // [UNACK, SACK)
	onGap               // a gap with an increased lost-cnt: the gap
	onOverflow          // a gap after an overflow: the gap, whatever lost-cnt is
	onTimeout           // timeout with lost-cnt above 1: UNACK and the zeros
	onTimeoutOne        // timeout with lost-cnt 1: UNACK
	onTimeoutAll        // timeout outside recovery: the window
	onFNACK             // FNACK: as a timeout
	noGap               // a gap caused by lost SACKs: nothing
	noFNACK             // a second FNACK: nothing
)

// batch is the set of retransmissions that one input demands.
type batch struct {
	why   reason
	at    vtime.Time // of the input
	index uint64     // of its record
	all   []psn.PSN  // in order
	wait  []psn.PSN  // not yet sent, in order
	fresh int        // new packets sent since
	begun bool       // a packet of it has been sent
	told  bool       // judge was called for it
}

// sender is the reference sender (FaSR III-B2): it takes the answers that reach the requester, and knows what has to be
// sent again, in order. judge is called for a batch when it is due, with the problem, or "" when all is well.
type sender struct {
	c          *rule.Context
	judge      func(b *batch, problem string, s *rule.Sight)
	una        psn.PSN          // UNACK
	high       psn.PSN          // sack-high: the newest that a SACK has named in this recovery
	recovering bool             // high is not acknowledged
	count      int              // lost-cnt of the latest SACK
	over       bool             // it has overflowed in this recovery
	missing    map[psn.PSN]bool // the zeros of the bitmap between una and high
	deaf       bool             // an FNACK was acted on, and no ACK has come since
	vague      bool             // it is deaf, and whether an answer since then is a new ACK is open
	off        bool             // the requester's pool was exhausted: nothing is compared any more
	// it goes back N, or waits for a receive: nothing is compared until quiet is acknowledged
	quietUntil bool
	quiet      psn.PSN            // newest PSN that it may send again so
	hushed     vtime.Time         // when it began to
	batches    []batch            // retransmissions due, oldest first
	forbidden  map[psn.PSN]reason // packets that must not be retransmitted, with the reason
	ignored    ignored            // and the FNACKs that forbid others
	excused    map[psn.PSN]bool   // of batches that another input replaced: some may have left the engine already
	expired    vtime.Time         // the latest timeout, or FNACK that was acted on; Never before
	pool       pool
	clock      *timeout.Clock
}

// senderRule makes a check of one reason. It reports the problems of batches with that reason, and is met by a batch.
func senderRule(which func(reason) bool) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		m := newSender(c)
		m.judge = func(b *batch, problem string, s *rule.Sight) {
			switch {
			case !which(b.why):
			case problem == "":
				c.Met()
			case s != nil:
				m.fails(problem)
			default:
				c.FailAt(b.at, b.index, rule.Requester, problem)
			}
		}
		return m.check()
	}
}

func newSender(c *rule.Context) *sender {
	return &sender{c: c, missing: map[psn.PSN]bool{}, forbidden: map[psn.PSN]reason{}, excused: map[psn.PSN]bool{},
		ignored: ignored{left: map[psn.PSN]int{}}, expired: vtime.Never,
		off: switched(c, "lostcnt_credit"), pool: pool{c: c}, clock: newClock(c)}
}

func (m *sender) check() rule.Check {
	return rule.Check{Sight: m.sight, Event: m.event, End: m.end}
}

func (m *sender) sight(s *rule.Sight) {
	m.clock.Sight(s)
	if m.off {
		return
	}
	switch {
	case s.Point == trace.RequesterOut && s.Relation == rule.Again:
		m.expires(s)
		m.sentAgain(s)
	case s.Point == trace.RequesterOut:
		m.pool.sends(s)
		m.sentNew(s)
	case s.Point == trace.RequesterIn && s.Intact() && m.c.Started && m.c.Addressed(s):
		m.heard(s)
	}
}

// heard takes an answer.
func (m *sender) heard(s *rule.Sight) {
	p := s.Pkt
	if !m.recovering && m.una != m.c.UNA {
		m.una = m.c.UNA
	}
	switch {
	case rule.IsACK(p):
		m.acknowledged(p.PSN.Next())
	case rule.IsNAK(p), p.Opcode == roce.Acknowledge:
		m.pause(p)
	case isSACK(p):
		m.sack(s)
	case p.Opcode == roce.FNACK:
		m.fnack(s)
	}
}

// ack moves UNACK, and reports whether it has moved.
func (m *sender) ack(to psn.PSN) bool {
	if to.Sub(m.una) <= 0 || m.c.MAX.Less(to) {
		return false
	}
	m.una = to
	maps.DeleteFunc(m.missing, func(p psn.PSN, _ bool) bool { return p.Less(to) })
	maps.DeleteFunc(m.excused, func(p psn.PSN, _ bool) bool { return p.Less(to) })
	maps.DeleteFunc(m.forbidden, func(p psn.PSN, _ reason) bool { return p.Less(to) })
	maps.DeleteFunc(m.ignored.left, func(p psn.PSN, _ int) bool { return p.Less(to) })
	m.recovering = m.recovering && !m.high.Less(to)
	m.quietUntil = m.quietUntil && !m.quiet.Less(to)
	m.prune()
	return true
}

// prune drops acknowledged packets from the batches, and settles the batches that are complete.
func (m *sender) prune() {
	for i := 0; i < len(m.batches); {
		b := &m.batches[i]
		b.wait = slices.DeleteFunc(b.wait, func(p psn.PSN) bool { return p.Less(m.una) })
		if len(b.wait) > 0 {
			i++
			continue
		}
		m.settle(b, "", nil)
		m.batches = slices.Delete(m.batches, i, i+1)
	}
}

func (m *sender) settle(b *batch, problem string, s *rule.Sight) {
	if !b.told {
		b.told = true
		m.judge(b, problem, s)
	}
}

// pause follows a NAK: the receiver goes back N, or has no receive, or refuses; what is sent again then is judged by no
// rule here until everything sent so far is acknowledged.
func (m *sender) pause(p *roce.Packet) {
	if p.PSN.In(m.una, m.c.MAX) {
		m.implied(p.PSN)
		m.hush()
	}
}

// sack: "the sender will enter the loss recovery state and immediately retransmit the packet between the unacknowledged
// PSN (UNACK) and the SACK"; in recovery a gap is a loss when lost-cnt increases.
func (m *sender) sack(s *rule.Sight) {
	p := s.Pkt
	m.implied(p.PSN)
	named, count, over := p.SACK.PSN, int(p.SACK.LostCnt), p.Opcode == roce.FaSRSackOverflow
	switch {
	case m.quietUntil || m.una.Less(p.PSN) || !named.In(m.una.Next(), m.c.MAX):
		return
	case m.overtaken(p):
		m.hush()
		return
	case p.PSN.Less(m.una):
		return
	case !m.recovering:
		m.recovering, m.over = true, false // an overflow of the recovery before is over
		clear(m.missing)
		m.replace()
		end := named
		if switched(m.c, "lc1_exact") && count == 1 && !over {
			end = m.una.Next()
		}
		for q := m.una.Next(); q.Less(named); q = q.Next() {
			m.missing[q] = true
		}
		m.begin(s, onFirstSACK, between(m.una, end))
	case named.LessEq(m.high):
		return
	case named != m.high.Next() && (over || count > m.count):
		for _, q := range between(m.high.Next(), named) {
			m.missing[q] = true
		}
		why := onGap
		if count <= m.count {
			why = onOverflow
		}
		m.begin(s, why, between(m.high.Next(), named))
	case named != m.high.Next():
		for _, q := range between(m.high.Next(), named) {
			m.forbidden[q] = noGap
		}
		m.judge(&batch{why: noGap, at: s.At, index: s.Index}, "", nil)
	}
	m.high, m.count, m.over = named, count, m.over && m.recovering || over
	if m.count <= 1 && !m.over {
		clear(m.missing)
	}
}

// overtaken reports whether the paper leaves open what a SACK does that a later answer has overtaken: a sender may take
// its packet for the newest, or its lost-cnt for the previous one.
func (m *sender) overtaken(p *roce.Packet) bool {
	if !m.recovering || m.high.Less(p.SACK.PSN) {
		return p.PSN.Less(m.una)
	}
	return p.SACK.PSN != m.high && int(p.SACK.LostCnt) != m.count
}

// between returns the PSNs [from, to).
func between(from, to psn.PSN) (all []psn.PSN) {
	for p := from; p.Less(to) && len(all) < 1<<16; p = p.Next() {
		all = append(all, p)
	}
	return all
}
