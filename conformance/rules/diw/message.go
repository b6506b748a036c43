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
	va  uint64 // address of its first byte
	len uint32 // length in bytes
}

// part is a segment that reached the target.
type part struct {
	off, len uint32     // in the message, in bytes
	sum      uint32     // CRC-32 of the payload, as in placements
	at       vtime.Time // its arrival
	record   uint64     // its record
	last     bool       // it is marked as the last segment of the message
	fresh    bool       // none of its bytes had arrived before
	late     bool       // it arrived after the last segment
	jumped   bool       // it does not continue the previous segment
	stored   bool       // its placement was reported
}

// message is a message as its target receives it.
type message struct {
	key
	first    vtime.Time // arrival of its first segment
	parts    []part     // in the order of arrival
	arrived  spans      // bytes that have arrived
	length   uint32     // length of the message in bytes
	known    bool       // length is set
	last     vtime.Time // arrival of the last segment; Never before
	whole    vtime.Time // when all bytes had arrived; Never before
	base     uint64     // target address: of a Write-Record, and of a SEND with a known receive
	buf      buffer     // of a SEND: the receive that it took
	matched  bool       // buf is set
	barred   bool       // of a Write-Record of no bytes: its tag allows none either
	declared spans      // bytes that were declared valid
	entries  int        // number of declarations
	again    bool       // a byte was declared twice
	ended    bool       // of a SEND: it was completed or given up
}

// add adds a segment.
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

// owed reports whether the target must take the message. It need not take a SEND that does not fit its receive or whose
// receive is not known, nor a Write-Record of no bytes whose tag allows none.
func (m *message) owed() bool {
	if m.record {
		return !m.barred
	}
	return m.matched && m.arrived.end() <= m.buf.len
}

// waiting returns the segment that a placement may be of, and that has not been placed; nil when there is none. Of
// several copies the first is placed.
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

// reach returns the offset after the latest segment.
func (m *message) reach() uint32 {
	if len(m.parts) == 0 {
		return 0
	}
	p := &m.parts[len(m.parts)-1]
	return p.off + p.len
}

// bytes returns the range of a segment.
func (p *part) bytes() spans { return spans{{p.off, p.off + p.len}} }

// latest returns the arrival of the newest segment.
func (m *message) latest() vtime.Time { return m.parts[len(m.parts)-1].at }

// String names the message as in findings.
func (m *message) String() string {
	if m.record {
		return fmt.Sprintf("Write-Record %d", m.number)
	}
	return fmt.Sprintf("SEND %d", m.number)
}
