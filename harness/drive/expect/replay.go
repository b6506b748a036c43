// Package expect computes the memory that both ends should have after a set of requests. Requests are executed on
// images of regions, in posting order, and the images are compared with the regions. Bytes whose content is not
// determined are open, and not compared: those of requests that did not complete, and those that depend on an unknown
// order.
//
// The package knows neither endpoints nor memory layouts: the caller gives the address of a region and its initial
// content.
package expect

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
)

// Work is one request as far as memory is concerned, and whether it is known to be done.
type Work struct {
	WR   engine.WorkRequest
	Done bool
	Loop bool // the request is of a load; its order among the requests of other loads and of the script is not known
}

// Region is one of the regions on which the requests of one side act.
type Region uint8

// The regions.
const (
	Source Region = iota // of the requester: data of SENDs and WRITEs, destination of scripted READs and of atomics
	Target               // of the responder: memory on which WRITEs, READs and atomics act
	Land                 // of the requester: destination of the READs of loads
	regions
)

// Replay executes the requests of one side on expected memory: the requester's regions and the responder's target.
// Images are made at first use, because most sets of requests leave one region alone.
type Replay struct {
	begin  func(Region) Image
	images [regions]*Image
}

// NewReplay returns a Replay that has executed nothing; begin returns the image of a region with its initial content.
func NewReplay(begin func(Region) Image) *Replay { return &Replay{begin: begin} }

// Image returns the expected content of a region.
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

// Fetches reports whether a request brings data back to the requester.
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

// hazards opens the bytes that requests both write and read. Their content depends on the time at which packets were
// made: a retransmitted WRITE reads its source again, and a repeated READ its target, and either may do so after a
// later request has changed the bytes.
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

// touch marks the bytes that a request reads.
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

// Write copies a request's bytes from an address of src to one of dst; open bytes are open at the destination too. A
// range outside the regions copies nothing: such a request fails.
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

// atomic executes an atomic on a number in the hosts' byte order, which is little-endian, and returns the old value to
// the source region.
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
