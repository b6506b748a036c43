package diw

import (
	"errors"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// datagram is a UDP datagram that passed a tap, joined from its fragments. It is valid during a call only.
type datagram struct {
	iwarp.Datagram
	bytes     []byte     // UDP header and payload
	at        vtime.Time // when its last fragment passed
	record    uint64     // of its first fragment
	fragments int        // number of IP fragments, 1 at least
	lost      bool       // at the sender's tap: a fragment will not arrive
	due       vtime.Time // at the sender's tap: arrival of the last of its fragments
	err       error      // why it does not decode as a segment
}

// damaged reports whether the CRC of the datagram is wrong.
func (d *datagram) damaged() bool { return errors.Is(d.err, iwarp.ErrCRC) }

// place returns the number of the datagram's message and its offset there.
func (d *datagram) place() (number, off uint32) {
	if s := &d.Segment; !s.Tagged {
		return s.MSN, s.MO
	}
	return d.Segment.Record.ID, d.Segment.Record.Off
}

// reader joins fragments at one tap. A datagram that lacks a fragment stays until its identification is used again, or
// jointLimit is reached.
type reader struct {
	parts map[uint16]*joint // by IP identification
	order []uint16          // IP identifications, oldest first
	whole datagram          // the latest completed
}

// joint is a datagram of which not all fragments have passed.
type joint struct {
	data      []byte       // payload so far, with holes
	got       map[int]bool // offsets of the fragments that passed
	have, end int          // bytes that passed, and length of the whole; 0 while unknown
	record    uint64       // of its first fragment
	fragments int          // number of fragments that passed
	lost      bool         // a fragment will not arrive
	due       vtime.Time   // arrival of the last of its fragments
}

// due returns the arrival time of a packet; the time of s for a packet that does not arrive.
func due(s *rule.Sight) vtime.Time {
	if s.Rec.Recv == vtime.Never {
		return s.At
	}
	return s.Rec.Recv
}

// jointLimit bounds the incomplete datagrams; the oldest is forgotten.
const jointLimit = 64

// read adds a packet and returns the datagram that it completes, or nil.
func (r *reader) read(s *rule.Sight) *datagram {
	p := s.Pkt
	lost := s.Rec.Fate == trace.Dropped
	if p.IP.Fragment.Whole() {
		return r.done(s, p.Payload, s.Index, 1, lost, due(s))
	}
	j := r.joint(p.IP.ID, s.Index)
	at := p.IP.Fragment.Offset()
	if at == 0 && j.fragments > 0 && j.have > 0 && j.got[0] && s.Out {
		r.forget(p.IP.ID) // the identification is used again
		j = r.joint(p.IP.ID, s.Index)
	}
	j.due = max(j.due, due(s))
	j.take(p, at, lost)
	if j.end == 0 || j.have < j.end {
		return nil
	}
	r.forget(p.IP.ID)
	return r.done(s, j.data[:j.end], j.record, j.fragments, j.lost, j.due)
}

// used reports whether a datagram has been completed.
func (r *reader) used() bool { return r.whole.bytes != nil }

// joint returns the incomplete datagram with an identification, a new one when there is none.
func (r *reader) joint(id uint16, record uint64) *joint {
	if r.parts == nil {
		r.parts = map[uint16]*joint{}
	}
	j := r.parts[id]
	if j == nil {
		if len(r.order) == jointLimit {
			r.forget(r.order[0])
		}
		j = &joint{got: map[int]bool{}, record: record}
		r.parts[id] = j
		r.order = append(r.order, id)
	}
	return j
}

// forget removes an incomplete datagram.
func (r *reader) forget(id uint16) {
	delete(r.parts, id)
	if i := slices.Index(r.order, id); i >= 0 {
		r.order = slices.Delete(r.order, i, i+1)
	}
}

// take adds a fragment.
func (j *joint) take(p *roce.Packet, at int, lost bool) {
	end := at + len(p.Payload)
	if end > len(j.data) {
		j.data = append(j.data, make([]byte, end-len(j.data))...)
	}
	copy(j.data[at:], p.Payload)
	if !j.got[at] {
		j.got[at] = true
		j.have += len(p.Payload)
		j.fragments++
	}
	if !p.IP.Fragment.More() {
		j.end = end
	}
	j.lost = j.lost || lost
}

// done decodes a complete datagram.
func (r *reader) done(s *rule.Sight, b []byte, record uint64, fragments int, lost bool, due vtime.Time) *datagram {
	d := &r.whole
	*d = datagram{bytes: b, at: s.At, record: record, fragments: fragments, lost: lost, due: due}
	d.err = d.Decode(b)
	return d
}
