package drive

import (
	"encoding/binary"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Work is one request of a peer as far as memory is concerned: what it was, and whether it is known to be done.
type Work struct {
	WR   engine.WorkRequest
	Done bool
}

// Verify compares the memory of connection i with what the peer's requests should have made of it, and reports the
// result as Memory events: "mismatch" counts bytes inside a written range that are wrong, "guard" bytes that no request
// named and that changed nevertheless. Requests that were posted and did not complete may have been placed or not, so
// their ranges are not judged. work is the peer's Posted; ok is false, and nothing reported, when there are no bytes.
func (e *Endpoint) Verify(now vtime.Time, i int, work []Work) (mismatch, guard int64, ok bool) {
	e.now = max(e.now, now)
	l := &e.layout
	got := e.memory.Load(Target(i), int(l.slot*l.slots))
	if got == nil {
		return 0, 0, false
	}
	n := l.slot * l.slots
	img := image{
		want:   pattern(e.spec.Seed, e.side, i, targetRegion, n),
		state:  make([]byte, n),
		source: pattern(e.spec.Seed, e.side.Other(), i, sourceRegion, n),
		base:   Target(i), from: l.source(i),
	}
	for _, w := range work {
		img.apply(w)
	}
	mismatch, guard = img.compare(got)
	e.event = trace.Event{Name: "mismatch", Value: mismatch}
	e.send(i, trace.Memory)
	e.event = trace.Event{Name: "guard", Value: guard}
	e.send(i, trace.Memory)
	return mismatch, guard, true
}

// image is the expected content of a target region.
type image struct {
	want, source []byte
	state        []byte // per byte: untouched, written, or open
	base, from   uint64
}

const (
	untouched = iota
	written
	open // a request that names it may or may not have been executed
)

// apply executes one request on the expected content.
func (m *image) apply(w Work) {
	at := w.WR.RemoteVA - m.base
	n := uint64(w.WR.Len)
	if at > uint64(len(m.want)) || n > uint64(len(m.want))-at {
		return
	}
	mark := byte(written)
	if !w.Done {
		mark = open
	}
	dst := m.want[at : at+n]
	switch w.WR.Op {
	case engine.OpWrite, engine.OpWriteImm:
		src := w.WR.LocalVA - m.from
		if src > uint64(len(m.source)) || n > uint64(len(m.source))-src {
			return
		}
		copy(dst, m.source[src:src+n])
	case engine.OpFetchAdd:
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(dst)+w.WR.SwapAdd)
	case engine.OpCompareSwap:
		if binary.LittleEndian.Uint64(dst) == w.WR.Compare {
			binary.LittleEndian.PutUint64(dst, w.WR.SwapAdd)
		}
	default:
		return
	}
	for k := range n {
		m.state[at+k] = max(m.state[at+k], mark)
	}
}

func (m *image) compare(got []byte) (mismatch, guard int64) {
	for k, b := range got {
		switch {
		case b == m.want[k] || m.state[k] == open:
		case m.state[k] == written:
			mismatch++
		default:
			guard++
		}
	}
	return mismatch, guard
}

// Posted returns connection i's requests in posting order, as the peer needs them for Verify. Loads give their last
// requests only, one per slot: earlier ones wrote the same bytes to the same places.
func (e *Endpoint) Posted(i int) []Work {
	var out []Work
	for k := range e.qps[i].loads {
		l := &e.qps[i].loads[k]
		again := *l
		for again.posted = max(0, l.posted-int(e.layout.slots)); again.posted < l.posted; again.posted++ {
			out = append(out, Work{WR: e.layout.request(i, &again), Done: again.posted < l.done})
		}
	}
	for _, w := range e.script.posted {
		if w.qp == i {
			out = append(out, w.Work)
		}
	}
	return out
}
