package fasr

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// event follows timeouts, and what the pool reports. A timeout of READ responses, which the same side may send to its
// peer, names another PSN.
func (m *sender) event(e *trace.Event) {
	switch {
	case !m.c.Mine(e):
	case e.Kind == trace.Probe && e.Name == "pool_exhausted" && e.Value > 0, e.Kind == trace.Fatal:
		m.off, m.batches = true, nil
	case e.Kind != trace.Timeout, m.off, m.c.UNA == m.c.MAX:
	case e.Body.PSN != m.c.UNA, m.quietUntil:
		// an ACK was at the port and not heard yet, it is the timer of READ responses, or it goes back once more
		m.hush()
	default:
		m.timeout()
	}
}

// hush stops comparing until everything sent so far is acknowledged.
func (m *sender) hush() {
	m.quiet, m.quietUntil, m.hushed, m.recovering = m.c.MAX.Prev(), true, m.c.Now(), false
	m.batches = nil
	clear(m.missing)
	clear(m.forbidden)
}

func (m *sender) timeout() {
	m.expired = m.c.Now()
	for i := range m.batches {
		b, port := &m.batches[i], m.c.Port
		// else it may be on the line, or wait for it
		if m.expired.Sub(b.at) > port.Turn && !(b.begun && port.Busy(b.at, m.expired)) {
			m.settle(b, m.c.Rel(b.wait[0])+" was not sent again before the timeout", nil)
		}
	}
	m.replace()
	clear(m.forbidden)
	m.una = m.c.UNA
	all, why := m.retry()
	m.begin(nil, why, all)
	for _, p := range between(m.una, m.c.MAX) {
		if !slices.Contains(all, p) {
			m.forbidden[p] = why
		}
	}
}

// sentAgain holds a retransmission against the batches. READ requests time out one by one and are left alone.
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
				return // by its own timer; it was on its way when the batch began
			}
			if m.excused[p] {
				delete(m.excused, p)
				return
			}
			problem := m.c.Rel(p) + " is sent again before " + m.c.Rel(m.batches[0].wait[0])
			m.judge(&batch{why: nothing}, problem, s)
			if b.why == onTimeoutAll && !b.told {
				m.settle(b, problem, s) // it does not begin with UNACK
			}
		}
		b.wait, b.begun = slices.Delete(b.wait, k, k+1), true
		m.prune()
		return
	}
	if s.Pkt.Opcode.IsRead() || m.excused[p] {
		delete(m.excused, p)
		return
	}
	if why, ok := m.forbidden[p]; ok {
		m.judge(&batch{why: why}, m.c.Rel(p)+" is sent again, which nothing asks for", s)
		return
	}
	m.judge(&batch{why: m.latest()}, m.c.Rel(p)+" is sent again and belongs to no gap", s)
}

// latest is the reason of the newest batch; what is sent beyond it is its doing. After a first SACK that is the gap.
func (m *sender) latest() reason {
	if m.recovering {
		return onGap
	}
	return onTimeoutAll
}

// sentNew counts new packets that pass what is to be sent again. One that was on the line when the timer expired is
// sent again as well.
func (m *sender) sentNew(s *rule.Sight) {
	if m.quietUntil && m.c.Port.Lags(m.hushed, s.At) {
		m.quiet = s.Pkt.PSN // it may have been in the port then
	}
	if sinceTimeout(s.At, m.expired) <= m.c.Port.Turn {
		m.excused[s.Pkt.PSN] = true
	}
	for i := range m.batches {
		b := &m.batches[i]
		if b.fresh++; b.fresh == rule.Handed+1 {
			m.judge(&batch{why: nothing}, m.c.Rel(s.Pkt.PSN)+" is new and passes "+m.c.Rel(b.wait[0])+
				", which is to be sent again", s)
			m.settle(b, m.c.Rel(b.wait[0])+" is not sent again", nil)
		}
	}
}

// sinceTimeout is the time since the latest timeout; the longest there is when there was none.
func sinceTimeout(now, expired vtime.Time) vtime.Duration {
	if expired == vtime.Never {
		return vtime.Duration(vtime.Never)
	}
	return now.Sub(expired)
}

// end reports due retransmissions that were never sent although there was time.
func (m *sender) end(at vtime.Time) {
	for i := range m.batches {
		if b := &m.batches[i]; m.c.Late(rule.Requester, b.at, rule.Patience, at) && !m.c.Failed &&
			!b.wait[0].Less(m.c.UNA) {
			m.settle(b, m.c.Rel(b.wait[0])+" is not sent again", nil)
		}
	}
}

const (
	senderTap = rule.TapRequester | rule.Attributes | rule.Probes
	ofSender  = rule.RequestOut | rule.ResponseIn
)
