package drive

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// replay is one half-conversation executed on expected memory: the requester's regions and the responder's target. They
// are made when they are asked for, because most conversations leave one of them alone.
type replay struct {
	make                 func(region int) image
	source, target, land *image
}

func (r *replay) sources() *image { return r.region(&r.source, sourceRegion) }
func (r *replay) targets() *image { return r.region(&r.target, targetRegion) }
func (r *replay) lands() *image   { return r.region(&r.land, landRegion) }

func (r *replay) region(m **image, region int) *image {
	if *m == nil {
		made := r.make(region)
		*m = &made
	}
	return *m
}

// replay executes the requests that side posted on connection i. Of our own nothing is looked at but what they brought back.
func (e *Endpoint) replay(side trace.Side, i int, work []Work) *replay {
	l := newLayout(e.spec, side)
	r := &replay{make: func(region int) image {
		base, owner := l.source(i), side
		switch region {
		case targetRegion:
			base, owner = Target(i), side.Other()
		case landRegion:
			base = l.land(i)
		}
		m := image{base: base, want: e.scratch.take(l.slot * l.slots), unordered: slices.Contains(e.impl.Features, engine.Unreliable),
			scratch: &e.scratch}
		pattern(m.want, e.spec.Seed, owner, i, region)
		return m
	}}
	switch fetches := slices.ContainsFunc(work, func(w Work) bool { return w.WR.Op == engine.OpRead || atomic(w.WR.Op) }); {
	case fetches:
		r.hazards(work)
	case side == e.side:
		return r
	}
	for k := range work {
		r.apply(&work[k])
	}
	return r
}

// hazards opens what requests both produce and consume. Its content depends on when packets were made: a WRITE is read
// from the source again when it is retransmitted, a READ from the target again when it is repeated, and either may be
// after a later request has changed the bytes.
func (r *replay) hazards(work []Work) {
	source, target := r.sources(), r.targets()
	sent, fetched := make([]bool, len(source.want)), make([]bool, len(target.want))
	for _, w := range work {
		switch op := w.WR.Op; {
		case op == engine.OpRead:
			touch(target, fetched, w.WR.RemoteVA, w.WR.Len)
		case !atomic(op):
			touch(source, sent, w.WR.LocalVA, w.WR.Len)
		}
	}
	for _, w := range work {
		switch op := w.WR.Op; {
		case op == engine.OpWrite, op == engine.OpWriteImm:
			target.openWhere(fetched, w.WR.RemoteVA, w.WR.Len)
		case atomic(op):
			target.openWhere(fetched, w.WR.RemoteVA, w.WR.Len)
			fallthrough
		case op == engine.OpRead:
			source.openWhere(sent, w.WR.LocalVA, w.WR.Len)
		}
	}
}

// atomic reports whether the operation is one of the two atomics, which read and write.
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
				m.states()[off+k] = open
			}
		}
	}
}

// apply executes one request.
func (r *replay) apply(w *Work) {
	switch op := w.WR.Op; {
	case op == engine.OpWrite, op == engine.OpWriteImm:
		copyWork(r.targets(), w.WR.RemoteVA, r.sources(), w.WR.LocalVA, w)
	case op == engine.OpRead:
		to := r.sources()
		if w.Loop {
			to = r.lands()
		}
		copyWork(to, w.WR.LocalVA, r.targets(), w.WR.RemoteVA, w)
	case atomic(op):
		r.atomic(w)
	}
}

// copyWork moves a request's bytes; what was open stays open where it goes. A range outside the regions moves nothing:
// such a request fails.
func copyWork(dst *image, dva uint64, src *image, sva uint64, w *Work) {
	n := uint64(w.WR.Len)
	to, ok := dst.at(dva, n)
	from, ok2 := src.at(sva, n)
	if !ok || !ok2 {
		return
	}
	if src.state == nil || bytes.IndexByte(src.state[from:from+n], open) < 0 {
		dst.putAll(to, src.want[from:from+n], w)
		return
	}
	for k := range n {
		dst.put(to+k, src.want[from+k], w)
		if src.state[from+k] == open {
			dst.states()[to+k] = open
		}
	}
}

// atomic executes an atomic on a number of the hosts' byte order, which is little-endian, and brings back the old value.
func (r *replay) atomic(w *Work) {
	const n = 8
	source, target := r.sources(), r.targets()
	at, ok := target.at(w.WR.RemoteVA, n)
	to, ok2 := source.at(w.WR.LocalVA, n)
	if !ok || !ok2 {
		return
	}
	le := binary.LittleEndian
	old := le.Uint64(target.want[at:])
	next := old + w.WR.SwapAdd
	if w.WR.Op == engine.OpCompareSwap {
		if next = old; old == w.WR.Compare {
			next = w.WR.SwapAdd
		}
	}
	var before, after [n]byte
	le.PutUint64(before[:], old)
	le.PutUint64(after[:], next)
	unknown := bytes.IndexByte(target.states()[at:at+n], open) >= 0 // one open byte makes the whole number unknown
	for k := range uint64(n) {
		target.put(at+k, after[k], w)
		source.put(to+k, before[k], w)
		if unknown {
			target.state[at+k], source.state[to+k] = open, open
		}
	}
}
