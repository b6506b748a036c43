package diw

import (
	"fmt"
	"hash/crc32"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// buffer is a posted receive.
type buffer struct {
	id  uint64 // of its work request
	va  uint64 // where it begins in memory
	len uint32 // bytes
}

// part is a segment that reached the target.
type part struct {
	off, len uint32     // in the message, bytes
	sum      uint32     // CRC-32 of the payload, as placements have it
	at       vtime.Time // when it came
	record   uint64     // that shows it
	last     bool       // it is marked as the last of the message
	fresh    bool       // none of its bytes had come before
	late     bool       // it came behind the last segment
	jumped   bool       // it does not begin where the message had reached
	stored   bool       // its placement was reported
}

// message is a message as its target knows it.
type message struct {
	key
	first    vtime.Time // arrival of its first segment
	parts    []part     // in the order of arrival
	arrived  spans      // bytes that have come
	length   uint32     // bytes of the whole
	known    bool       // length is
	last     vtime.Time // arrival of the last segment; Never when it has not come
	whole    vtime.Time // when all had come; Never when it has not
	base     uint64     // of a Write-Record, and of a SEND whose receive is known
	buf      buffer     // a SEND: the receive that it took
	matched  bool       // buf is known
	declared spans      // bytes that were declared valid
	entries  int        // declarations
	again    bool       // some byte was declared twice
	ended    bool       // a SEND: completed or given up
}

// add notes a segment.
func (m *message) add(d *datagram, off, n uint32) *part {
	p := part{off: off, len: n, sum: crc32.ChecksumIEEE(d.Segment.Payload), at: d.at, record: d.record,
		last: d.Segment.Last,
		late: m.last != vtime.Never, jumped: off != m.reach(), fresh: m.arrived.without(off, off+n)}
	m.parts = append(m.parts, p)
	m.arrived.add(off, off+n)
	if p.last && m.last == vtime.Never {
		m.last = d.at
	}
	if m.whole == vtime.Never && m.known && m.arrived.covers(0, m.length) {
		m.whole = d.at
	}
	return &m.parts[len(m.parts)-1]
}

// waiting returns the segment that a placement may be of and that has not been placed; nil when there is none. The
// first of several copies is the one that is placed.
func (m *message) waiting(e *trace.Event) *part {
	if e.VA < m.base || m.known && e.VA-m.base > uint64(m.length) {
		return nil
	}
	for i := range m.parts {
		if p := &m.parts[i]; p.fresh && !p.stored && m.base+uint64(p.off) == e.VA && p.len == e.Len && p.sum == e.Sum {
			return p
		}
	}
	return nil
}

// reach is the offset behind the latest segment.
func (m *message) reach() uint32 {
	if len(m.parts) == 0 {
		return 0
	}
	p := &m.parts[len(m.parts)-1]
	return p.off + p.len
}

// bytes are those that a segment brought.
func (p *part) bytes() spans { return spans{{p.off, p.off + p.len}} }

// latest is when the newest segment came.
func (m *message) latest() vtime.Time { return m.parts[len(m.parts)-1].at }

// String says which message it is, as findings print it.
func (m *message) String() string {
	if m.record {
		return fmt.Sprintf("Write-Record %d", m.number)
	}
	return fmt.Sprintf("SEND %d", m.number)
}
