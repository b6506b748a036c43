// Package expect is the memory of both ends as requests should have made it. Requests are executed on images of
// regions, in posting order, and the images are compared with what the regions hold. Bytes whose content is not
// determined are open, and not judged: those of requests that did not complete, and those that depend on an order that
// is not known.
//
// It knows no endpoint and no layout of memory: whoever asks says where a region begins and what it held.
package expect

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
)

// Work is one request as far as memory is concerned: what it was, and whether it is known to be done.
type Work struct {
	WR   engine.WorkRequest
	Done bool
	Loop bool // of a load: where it stands among the requests of other loads and of the script is not known
}

// Region is one of the regions that requests of one side act on.
type Region uint8

// The regions.
const (
	Source Region = iota // the requester's, from which it sends and into which single requests fetch
	Target               // the responder's
	Land                 // the requester's, into which READs of loads fetch
	regions
)

// Replay is one half-conversation executed on expected memory: the requester's regions and the responder's target. They
// are made when they are asked for, because most conversations leave one of them alone.
type Replay struct {
	begin  func(Region) Image
	images [regions]*Image
}

// NewReplay returns one that has executed nothing; begin makes the image of a region as it was at the start.
func NewReplay(begin func(Region) Image) *Replay { return &Replay{begin: begin} }

// Image returns what a region should hold.
func (r *Replay) Image(region Region) *Image {
	m := &r.images[region]
	if *m == nil {
		made := r.begin(region)
		*m = &made
	}
	return *m
}

func (r *Replay) sources() *Image { return r.Image(Source) }
func (r *Replay) targets() *Image { return r.Image(Target) }

// Fetches reports whether a request brings something back.
func Fetches(work []Work) bool {
	return slices.ContainsFunc(work, func(w Work) bool { return w.WR.Op == engine.OpRead || atomic(w.WR.Op) })
}

// Run executes requests, in posting order. It is called once.
func (r *Replay) Run(work []Work) {
	if Fetches(work) {
		r.hazards(work)
	}
	for k := range work {
		r.apply(&work[k])
	}
}

// hazards opens what requests both produce and consume. Its content depends on when packets were made: a WRITE is read
// from the source again when it is retransmitted, a READ from the target again when it is repeated, and either may be
// after a later request has changed the bytes.
func (r *Replay) hazards(work []Work) {
	source, target := r.sources(), r.targets()
	sent, fetched := make([]bool, len(source.Want)), make([]bool, len(target.Want))
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
func touch(m *Image, seen []bool, va uint64, n uint32) {
	if off, ok := m.at(va, uint64(n)); ok {
		for k := range uint64(n) {
			seen[off+k] = true
		}
	}
}

// openWhere opens the bytes of a written range that are read as well.
func (m *Image) openWhere(seen []bool, va uint64, n uint32) {
	if off, ok := m.at(va, uint64(n)); ok {
		for k := range uint64(n) {
			if seen[off+k] {
				m.states()[off+k] = open
			}
		}
	}
}

// apply executes one request.
func (r *Replay) apply(w *Work) {
	switch op := w.WR.Op; {
	case op == engine.OpWrite, op == engine.OpWriteImm:
		r.targets().Write(w.WR.RemoteVA, r.sources(), w.WR.LocalVA, w)
	case op == engine.OpRead:
		to := r.sources()
		if w.Loop {
			to = r.Image(Land)
		}
		to.Write(w.WR.LocalVA, r.targets(), w.WR.RemoteVA, w)
	case atomic(op):
		r.atomic(w)
	}
}

// Write moves a request's bytes from an address of src to one of dst; what was open stays open where it goes. A range
// outside the regions moves nothing: such a request fails.
func (dst *Image) Write(dva uint64, src *Image, sva uint64, w *Work) {
	n := uint64(w.WR.Len)
	to, ok := dst.at(dva, n)
	from, ok2 := src.at(sva, n)
	if !ok || !ok2 {
		return
	}
	if src.state == nil || bytes.IndexByte(src.state[from:from+n], open) < 0 {
		dst.putAll(to, src.Want[from:from+n], w)
		return
	}
	for k := range n {
		dst.put(to+k, src.Want[from+k], w)
		if src.state[from+k] == open {
			dst.states()[to+k] = open
		}
	}
}

// atomic executes an atomic on a number of the hosts' byte order, which is little-endian, and brings back the old
// value.
func (r *Replay) atomic(w *Work) {
	const n = 8
	source, target := r.sources(), r.targets()
	at, ok := target.at(w.WR.RemoteVA, n)
	to, ok2 := source.at(w.WR.LocalVA, n)
	if !ok || !ok2 {
		return
	}
	le := binary.LittleEndian
	old := le.Uint64(target.Want[at:])
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
