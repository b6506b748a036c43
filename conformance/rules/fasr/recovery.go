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
		for _, p := range between(m.una, m.c.MAX) {
			if !m.waits(p) {
				m.forbidden[p] = noFNACK
			}
		}
		m.judge(&batch{why: noFNACK, at: s.At, index: s.Index}, "", nil)
		return
	}
	m.deaf, m.expired = true, m.c.Now()
	all, _ := m.retry()
	m.replace()
	m.begin(s, onFNACK, all)
}

func (m *sender) waits(p psn.PSN) bool {
	return slices.ContainsFunc(m.batches, func(b batch) bool { return slices.Contains(b.wait, p) })
}
