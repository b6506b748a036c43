package rule

import "github.com/rdma-gauntlet/gauntlet/harness/psn"

// Outstanding follows the messages that a requester began and that no response has answered yet, as its port shows them.
type Outstanding struct {
	last  []psn.PSN // ends of the messages, oldest first
	head  int       // those before it have been answered
	begun bool      // the newest has not ended
}

// outstandingLimit bounds what is followed; no send queue is deeper.
const outstandingLimit = 1 << 20

// Answered drops the oldest messages that have been answered.
func (m *Outstanding) Answered(c *Context) {
	for m.head < len(m.last) && c.Answered(m.last[m.head]) {
		m.head++
	}
	if m.head > len(m.last)/2 { // so that a deep queue is not moved for each acknowledgement
		m.last = m.last[:copy(m.last, m.last[m.head:])]
		m.head = 0
	}
}

// Request takes the first transmission of a request.
func (m *Outstanding) Request(c *Context, s *Sight) {
	if s.Pkt.Opcode.StartsMessage() {
		m.begun = true
	}
	if s.Pkt.Opcode.EndsMessage() && len(m.last) < outstandingLimit {
		m.last = append(m.last, s.Pkt.PSN.Add(max(1, c.Span(s.Pkt))-1))
		m.begun = false
	}
}

// Count returns how many there are, the open one included.
func (m *Outstanding) Count() int {
	n := len(m.last) - m.head
	if m.begun {
		n++
	}
	return n
}
