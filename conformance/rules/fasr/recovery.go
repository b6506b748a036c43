package fasr

import (
	"maps"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// replace drops the batches, because a new input determines all retransmissions.
func (m *sender) replace() {
	for i := range m.batches {
		for _, p := range m.batches[i].wait {
			m.excused[p] = true
			m.idle.leave(p)
		}
	}
	m.batches = nil
}

// begin adds a batch.
func (m *sender) begin(s *rule.Sight, why reason, all []psn.PSN) {
	b := batch{why: why, at: m.c.Now(), index: rule.NoRecord, all: all, wait: slices.Clone(all)}
	if s != nil {
		b.index = s.Index
	}
	for _, p := range all {
		delete(m.forbidden, p)
	}
	m.batches = append(m.batches, b)
}

// retry is the packets that a timeout retransmits (FaSR III-B2).
func (m *sender) retry() (all []psn.PSN, why reason) {
	switch {
	case !m.recovering:
		return between(m.una, m.c.MAX), onTimeoutAll
	case m.count <= 1 && !m.over:
		return []psn.PSN{m.una}, onTimeoutOne
	}
	all = append(all, m.una)
	for _, p := range slices.SortedFunc(maps.Keys(m.missing), psn.PSN.Sub) {
		if p.In(m.una.Next(), m.high) {
			all = append(all, p)
		}
	}
	return all, onTimeout
}

// fnack: "The sender only responds to an FNACK once before receiving a new ACK."
func (m *sender) fnack(s *rule.Sight) {
	m.ack(s.Pkt.PSN)
	switch {
	case s.Pkt.PSN != m.una || m.una == m.c.MAX:
		return
	case m.quietUntil:
		m.hush() // go-back-N restarts
		return
	case m.deaf:
		clear(m.forbidden)
		m.idle.forbid(m.c.MAX)
		m.judge(&batch{why: noFNACK, at: s.At, index: s.Index}, "", nil)
		return
	}
	m.deaf, m.expired = true, m.c.Now()
	all, _ := m.retry()
	m.replace()
	m.begin(s, onFNACK, all)
}

// idle is the FNACKs that a sender does not act on. Each forbids to send again what is not in a batch at that time.
type idle struct {
	seen int             // such FNACKs
	to   psn.PSN         // the first PSN that was new at the latest of them; valid when seen > 0
	left map[psn.PSN]int // seen when a packet left its batch; packets of later batches are asked for again
}

func (f *idle) forbid(to psn.PSN) { f.seen, f.to = f.seen+1, to }

// leave notes that p is in a batch no more.
func (f *idle) leave(p psn.PSN) {
	if f.seen > 0 {
		f.left[p] = f.seen
	}
}

// forbids reports whether such an FNACK came since p, which is in no batch, was in one.
func (f *idle) forbids(p psn.PSN) bool { return f.seen > f.left[p] && p.Less(f.to) }

// forgive takes back everything that must not be sent again.
func (m *sender) forgive() {
	clear(m.forbidden)
	m.idle.seen = 0
	clear(m.idle.left)
}
