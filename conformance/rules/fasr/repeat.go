package fasr

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// event processes timeouts and reports of the pool. A timeout of READ responses, which the same side may send to its
// peer, names another PSN.
func (m *sender) event(e *trace.Event) {
	switch {
	case !m.c.Mine(e):
	case e.Kind == trace.Probe && e.Name == "pool_exhausted" && e.Value > 0, e.Kind == trace.Fatal:
		m.off, m.batches = true, nil
	case e.Kind != trace.Timeout, m.off, m.c.UNA == m.c.MAX:
	case e.Body.PSN != m.c.UNA, m.quietUntil, m.contradicted():
		// An ACK was at the port and not processed, the timer is that of READ responses, or go-back-N restarts.
		m.hush()
	default:
		m.timeout(e.At)
	}
}

// expires takes a retransmission that no answer asked for in time, after long enough, for a sign that the timer has
// expired.
func (m *sender) expires(s *rule.Sight) {
	switch at, ok := m.clock.Expires(s); {
	case !ok:
	case s.Pkt.PSN != m.c.UNA, s.Pkt.Opcode.IsRead(), m.asked(s), m.quietUntil, m.contradicted():
		m.hush()
	default:
		m.timeout(at)
	}
}

// asked reports whether an answer may have asked for a retransmission.
func (m *sender) asked(s *rule.Sight) bool {
	p := s.Pkt.PSN
	return m.excused[p] || slices.ContainsFunc(m.batches, func(b batch) bool {
		return slices.Contains(b.wait, p) && !m.c.Late(rule.Requester, b.at, rule.Patience, s.At)
	})
}

// hush stops comparing until everything sent so far is acknowledged.
func (m *sender) hush() {
	m.quiet, m.quietUntil, m.hushed, m.recovering = m.c.MAX.Prev(), true, m.c.Now(), false
	m.batches = nil
	clear(m.missing)
	m.forgive()
}

// timeout is a timeout, at the earliest at the given time.
func (m *sender) timeout(at vtime.Time) {
	m.expired = m.c.Now()
	for i := range m.batches {
		b, port := &m.batches[i], m.c.Port
		// Otherwise it may be on the line, or wait for it.
		if at.Sub(b.at) > port.Turn && !(b.begun && port.Busy(b.at, at)) {
			m.settle(b, m.c.Rel(b.wait[0])+" was not sent again before the timeout", nil)
		}
	}
	m.replace()
	m.forgive()
	m.una = m.c.UNA
	all, why := m.retry()
	m.begin(nil, why, all)
	for _, p := range between(m.una, m.c.MAX) {
		if len(all) > 0 && p == all[0] {
			all = all[1:]
		} else {
			m.forbidden[p] = why
		}
	}
}

// sentAgain compares a retransmission with the batches. READ requests time out one by one and are not judged.
func (m *sender) sentAgain(s *rule.Sight) {
	p := s.Pkt.PSN
	if p.Less(m.c.UNA) || m.quietUntil {
		return
	}
	for i := range m.batches {
		b := &m.batches[i]
		k := slices.Index(b.wait, p)
		if k < 0 {
			continue
		}
		if k > 0 || i > 0 {
			if s.Pkt.Opcode.IsRead() && m.c.InPort(s, b.at) {
				return // it was sent by its own timer, and waited in the port when the batch began
			}
			if m.excused[p] {
				delete(m.excused, p)
				return
			}
			problem := m.c.Rel(p) + " is sent again before " + m.c.Rel(m.batches[0].wait[0])
			m.judge(&batch{why: nothing}, problem, s)
			if b.why == onTimeoutAll && !b.told {
				m.settle(b, problem, s) // the batch does not begin with UNACK
			}
		}
		b.wait, b.begun = slices.Delete(b.wait, k, k+1), true
		m.ignored.leave(p)
		m.prune()
		return
	}
	if s.Pkt.Opcode.IsRead() || m.excused[p] {
		delete(m.excused, p)
		return
	}
	why, forbidden := m.forbidden[p]
	if !forbidden && m.ignored.forbids(p) {
		why, forbidden = noFNACK, true
	}
	text := " is sent again, but no answer asks for it"
	if !forbidden {
		why, text = m.latest(), " is sent again, but is in no gap"
	}
	if m.pool.may() {
		m.off, m.batches = true, nil
	}
	m.judge(&batch{why: why}, m.c.Rel(p)+text, s)
}

// fails reports a problem that a sight shows, or a doubt where the sender may go back N.
func (m *sender) fails(problem string) {
	if m.off {
		m.c.Doubt(exhausted)
	} else {
		m.c.Fail(rule.Requester, problem)
	}
}

// latest returns the reason that an unexpected retransmission is attributed to. After a first SACK that is the gap.
func (m *sender) latest() reason {
	if m.recovering {
		return onGap
	}
	return onTimeoutAll
}

// sentNew counts the new packets that overtake due retransmissions. A new packet on the line at a timeout is sent again
// as well.
func (m *sender) sentNew(s *rule.Sight) {
	if m.quietUntil && m.c.Port.Lags(m.hushed, s.At) {
		m.quiet = s.Pkt.PSN // it may have been in the port when hush was called
	}
	if sinceTimeout(s.At, m.expired) <= m.c.Port.Turn {
		m.excused[s.Pkt.PSN] = true
	}
	for i := range m.batches {
		b := &m.batches[i]
		if b.fresh++; b.fresh == rule.Handed+1 {
			m.judge(&batch{why: nothing}, m.c.Rel(s.Pkt.PSN)+" is new and overtakes "+m.c.Rel(b.wait[0])+
				", which is due again", s)
			m.settle(b, m.c.Rel(b.wait[0])+" is not sent again", nil)
		}
	}
}

// sinceTimeout returns the time since the latest timeout, the maximum if there was none.
func sinceTimeout(now, expired vtime.Time) vtime.Duration {
	if expired == vtime.Never {
		return vtime.Duration(vtime.Never)
	}
	return now.Sub(expired)
}

// end reports due retransmissions that were not sent in time.
func (m *sender) end(at vtime.Time) {
	for i := range m.batches {
		if b := &m.batches[i]; m.c.Late(rule.Requester, b.at, rule.Patience, at) && !m.c.Failed &&
			!b.wait[0].Less(m.c.UNA) {
			m.settle(b, m.c.Rel(b.wait[0])+" is not sent again", nil)
		}
	}
}

const (
	senderTap = rule.TapRequester | rule.Attributes
	ofSender  = rule.RequestOut | rule.ResponseIn
)
