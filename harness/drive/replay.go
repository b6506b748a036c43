package drive

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// replay is one half-conversation executed on expected memory: the requester's regions and the responder's target.
type replay struct {
	source image
	land   *image // nil when no load READs
	target image
}

// replay executes the requests that side posted on connection i.
func (e *Endpoint) replay(side trace.Side, i int, work []Work) *replay {
	l := newLayout(e.spec, side)
	n := l.slot * l.slots
	r := &replay{
		source: newImage(l.source(i), pattern(e.spec.Seed, side, i, sourceRegion, n)),
		target: newImage(Target(i), pattern(e.spec.Seed, side.Other(), i, targetRegion, n)),
	}
	if l.reads {
		m := newImage(l.land(i), pattern(e.spec.Seed, side, i, landRegion, n))
		r.land = &m
	}
	r.hazards(work)
	for k := range work {
		r.apply(&work[k])
	}
	return r
}

// hazards opens what requests both produce and consume. Its content depends on when packets were made: a WRITE is read
// from the source again when it is retransmitted, a READ from the target again when it is repeated, and either may be
// after a later request has changed the bytes.
func (r *replay) hazards(work []Work) {
	if !slices.ContainsFunc(work, func(w Work) bool { return w.WR.Op == engine.OpRead || atomic(w.WR.Op) }) {
		return // nothing comes back
	}
	sent, fetched := make([]bool, len(r.source.want)), make([]bool, len(r.target.want))
	for _, w := range work {
		switch op := w.WR.Op; {
		case op == engine.OpRead:
			touch(&r.target, fetched, w.WR.RemoteVA, w.WR.Len)
		case !atomic(op):
			touch(&r.source, sent, w.WR.LocalVA, w.WR.Len)
		}
	}
	for _, w := range work {
		switch op := w.WR.Op; {
		case op == engine.OpWrite, op == engine.OpWriteImm:
			r.target.openWhere(fetched, w.WR.RemoteVA, w.WR.Len)
		case atomic(op):
			r.target.openWhere(fetched, w.WR.RemoteVA, w.WR.Len)
			fallthrough
		case op == engine.OpRead:
			r.source.openWhere(sent, w.WR.LocalVA, w.WR.Len)
		}
	}
}

func atomic(op engine.Op) bool { return op == engine.OpFetchAdd || op == engine.OpCompareSwap }

// touch notes the bytes that a request reads.
func touch(m *image, seen []bool, va uint64, n uint32) {
	if off, ok := m.at(va, uint64(n)); ok {
		for k := range uint64(n) {
			seen[off+k] = true
		}
	}
}

// openWhere opens the bytes of a written range that are read as well.
func (m *image) openWhere(seen []bool, va uint64, n uint32) {
	if off, ok := m.at(va, uint64(n)); ok {
		for k := range uint64(n) {
			if seen[off+k] {
				m.state[off+k] = open
			}
		}
	}
}

// apply executes one request.
func (r *replay) apply(w *Work) {
	switch op := w.WR.Op; {
	case op == engine.OpWrite, op == engine.OpWriteImm:
		r.copy(&r.target, w.WR.RemoteVA, &r.source, w.WR.LocalVA, w)
	case op == engine.OpRead:
		to := &r.source
		if w.Loop {
			to = r.land
		}
		if to != nil {
			r.copy(to, w.WR.LocalVA, &r.target, w.WR.RemoteVA, w)
		}
	case atomic(op):
		r.atomic(w)
	}
}

// copy moves a request's bytes; what was open stays open where it goes. A range outside the regions moves nothing: such
// a request fails.
func (r *replay) copy(dst *image, dva uint64, src *image, sva uint64, w *Work) {
	n := uint64(w.WR.Len)
	to, ok := dst.at(dva, n)
	from, ok2 := src.at(sva, n)
	if !ok || !ok2 {
		return
	}
	if w.Done && allUntouched(dst.state[to:to+n]) && allUntouched(src.state[from:from+n]) {
		dst.putAll(to, src.want[from:from+n], w)
		return
	}
	for k := range n {
		dst.put(to+k, src.want[from+k], w)
		if src.state[from+k] == open {
			dst.state[to+k] = open
		}
	}
}

// allUntouched compares in blocks, which is what a machine is fast at.
func allUntouched(state []byte) bool {
	var zero [4096]byte // all untouched
	for len(state) > 0 {
		n := min(len(state), len(zero))
		if !bytes.Equal(state[:n], zero[:n]) {
			return false
		}
		state = state[n:]
	}
	return true
}

// atomic executes an atomic on a number of the hosts' byte order, which is little-endian, and brings back the old value.
func (r *replay) atomic(w *Work) {
	const n = 8
	at, ok := r.target.at(w.WR.RemoteVA, n)
	to, ok2 := r.source.at(w.WR.LocalVA, n)
	if !ok || !ok2 {
		return
	}
	le := binary.LittleEndian
	old := le.Uint64(r.target.want[at:])
	next := old + w.WR.SwapAdd
	if w.WR.Op == engine.OpCompareSwap {
		if next = old; old == w.WR.Compare {
			next = w.WR.SwapAdd
		}
	}
	var before, after [n]byte
	le.PutUint64(before[:], old)
	le.PutUint64(after[:], next)
	unknown := false // one open byte makes the whole number unknown
	for k := range uint64(n) {
		unknown = unknown || r.target.state[at+k] == open
	}
	for k := range uint64(n) {
		r.target.put(at+k, after[k], w)
		r.source.put(to+k, before[k], w)
		if unknown {
			r.target.state[at+k], r.source.state[to+k] = open, open
		}
	}
}
