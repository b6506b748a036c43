package merge

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// flight is a packet between the taps.
type flight struct {
	trace.Kept
	progress
}

// progress is the state of a packet in the merge, beside its record.
type progress struct {
	key     uint64
	loose   looseKey
	settled bool // its fate is known
	matched bool
	dead    bool // an arrival that was matched to the record of another flight; not emitted
	// the link's log says that the packet left the link with other bytes; key is then the content key of those
	altered bool
	inOrder bool // still in merger.order
	inSent  bool // still in merger.sent
	inEarly bool // still in merger.early
	cause   string
	due     vtime.Time // time of its arrival by the link's log
	let     vtime.Time // time at which it left the part of the link that keeps a log; zero: when it was sent
}

// left returns the time at which the part of the link without a log took the packet.
func (f *flight) left() vtime.Time { return max(f.Rec.Sent, f.let) }

// looseKey identifies a packet whose bytes may have changed on the link.
type looseKey struct {
	from   trace.Side
	qp     uint32
	psn    psn.PSN
	ip     roce.IP
	opcode roce.Opcode
}

// looseOf returns the key of a packet. One without BTH has the number of its IP packet in place of a PSN, as in the log
// of a link.
func looseOf(from trace.Side, p *roce.Packet) looseKey {
	k := looseKey{from, p.DestQP, p.Number(), p.IP, p.Opcode}
	if p.Opcode.OverIP() {
		k.psn = psn.PSN(p.IP.ID)
	}
	return k
}

// bucket holds the packets of one key: those that wait for their arrival, the last that arrived, and the copies in the
// link's log.
type bucket struct {
	waiting []*flight
	last    *flight
	copies  []expected // copies that the link has made and that have not arrived
}

// keepBytes copies the bytes of the frame, which belong to the source.
func (f *flight) keepBytes() {
	r := f.Rec
	f.Keep(&r)
}

// index finds the packets in flight, and those that arrived within the window, by their keys.
type index struct {
	exact map[uint64]*bucket // by content
	loose map[looseKey]*bucket
}

func newIndex() index { return index{map[uint64]*bucket{}, map[looseKey]*bucket{}} }

// add makes f findable until its arrival.
func (x *index) add(f *flight) {
	wait(x.exact, f.key, f)
	wait(x.loose, f.loose, f)
}

// remove removes f, and buckets that become empty.
func (x *index) remove(f *flight) {
	leave(x.exact, f.key, f)
	leave(x.loose, f.loose, f)
}

// forget removes f and the copies of it that have not arrived.
func (x *index) forget(f *flight) {
	if b := x.exact[f.key]; b != nil {
		b.copies = slices.DeleteFunc(b.copies, func(c expected) bool { return c.of == f })
	}
	x.remove(f)
}

// like lists the packets in flight that look like one whose bytes changed.
func (x *index) like(k looseKey) []*flight {
	if b := x.loose[k]; b != nil {
		return b.waiting
	}
	return nil
}

// arrived records f as the last arrival with its bytes.
func (x *index) arrived(f *flight) {
	x.remove(f)
	if b := x.exact[f.key]; b != nil {
		b.last = f
	} else {
		x.exact[f.key] = &bucket{last: f}
	}
}

// wait adds f to the bucket of its key.
func wait[K comparable](m map[K]*bucket, key K, f *flight) {
	b := m[key]
	if b == nil {
		b = &bucket{}
		m[key] = b
	}
	b.waiting = append(b.waiting, f)
}

// leave removes f from the bucket of its key, and removes the bucket when it becomes empty, so that memory is bounded
// by the window.
func leave[K comparable](m map[K]*bucket, key K, f *flight) {
	b := m[key]
	if b == nil {
		return
	}
	if i := slices.Index(b.waiting, f); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
	if b.last == f {
		b.last = nil
	}
	if len(b.waiting)+len(b.copies) == 0 && b.last == nil {
		delete(m, key)
	}
}
