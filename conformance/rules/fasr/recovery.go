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
			m.ignored.leave(p)
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

// contradicted reports whether the latest SACK said that nothing is missing. "If lost-cnt is 0, it indicates that all
// packets within the entire window of the QP have been lost": a sender that believes it sends the window again.
func (m *sender) contradicted() bool { return m.recovering && m.count == 0 && !m.over }

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

// acknowledged takes an ACK. Whether one that acknowledges nothing new lets the sender act on another FNACK is open.
func (m *sender) acknowledged(to psn.PSN) {
	if m.ack(to) {
		m.deaf, m.vague = false, false
	} else if to == m.una {
		m.vague = m.deaf
	}
}

// implied takes what a SACK, FNACK or NAK acknowledges. Whether it counts as the new ACK that lets the sender act on
// another FNACK is open.
func (m *sender) implied(to psn.PSN) {
	if m.ack(to) {
		m.vague = m.deaf
	}
}

// fnack: "The sender only responds to an FNACK once before receiving a new ACK."
func (m *sender) fnack(s *rule.Sight) {
	m.implied(s.Pkt.PSN)
	switch {
	case m.una.Less(s.Pkt.PSN) || m.una == m.c.MAX:
		return
	case s.Pkt.PSN.Less(m.una), m.quietUntil, m.contradicted(), m.vague:
		m.hush() // a sender may act on one that was overtaken, or not; or go-back-N restarts
		return
	case m.deaf:
		clear(m.forbidden)
		m.ignored.add(m.c.MAX)
		m.judge(&batch{why: noFNACK, at: s.At, index: s.Index}, "", nil)
		return
	}
	m.deaf, m.expired = true, m.c.Now()
	all, _ := m.retry()
	m.replace()
	m.begin(s, onFNACK, all)
}

// ignored is the FNACKs that a sender does not act on. Each forbids to send again what is not in a batch at that time.
type ignored struct {
	n    int             // such FNACKs so far
	to   psn.PSN         // the first PSN that was new at the latest of them; valid when n > 0
	left map[psn.PSN]int // n when a packet left its batch, in which it was asked for
}

func (f *ignored) add(to psn.PSN) { f.n, f.to = f.n+1, to }

// leave notes that p is in a batch no more.
func (f *ignored) leave(p psn.PSN) {
	if f.n > 0 {
		f.left[p] = f.n
	}
}

// forbids reports whether one has come since p, which is in no batch, was in one.
func (f *ignored) forbids(p psn.PSN) bool { return f.n > f.left[p] && p.Less(f.to) }

// forgive takes back everything that must not be sent again.
func (m *sender) forgive() {
	clear(m.forbidden)
	m.ignored.n = 0
	clear(m.ignored.left)
}
