package recording

import (
	"cmp"
	"io"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Limits of what a reading keeps.
const (
	headLimit = 96 << 20 // bytes of the heads of all frames
	headCheck = 1 << 20  // bytes of heads from which on it is estimated whether those of all frames will fit
	headLeast = 2 << 10  // bytes of heads by flow; with fewer, the memory of the flows counts more than a reading
	sumLimit  = 1 << 23  // frames of a source
)

// kept is what a reading of captures keeps of their frames for the next one, by source: the heads of all of them, in
// place of the captures. Where they are too many, few by flow, of two taps, or protected by codes over payloads, it
// keeps the CRC-32 of the payloads, with which no ICRC need be checked again if all were right.
type kept struct {
	heads []capture.Heads
	sums  [][]uint32
	end   error // error with which the captures ended, io.EOF when they are complete

	progress func() float64 // part of the captures that has been read
	check    int            // bytes of heads at which it is asked for next
}

// keep keeps a frame whose headers, if it is Sound, were decoded last.
func (l *learner) keep(n *capture.Lane) {
	k, f := &l.kept, &n.Frame
	if k.heads != nil {
		if !f.HasTap && l.headers.Packet.Opcode != roce.LoWAR && len(l.order) <= crowd && k.fits() {
			k.heads[n.Index].Add(f, &l.headers)
			return
		}
		k.shrink()
	}
	if of := &k.sums[n.Index]; len(*of) < sumLimit && !f.AnotherPort {
		*of = append(*of, f.Sum)
	}
}

// fits reports whether the heads of all frames will fit in the limit, as far as the present ones tell. It asks for the
// progress each time that they have doubled.
func (k *kept) fits() bool {
	size := k.size()
	if size < k.check {
		return true
	}
	k.check = min(2*size, headLimit)
	return float64(size) <= headLimit*k.progress()
}

// settle ends the reading of the frames of so many flows.
func (k *kept) settle(end error, flows int) {
	k.end, k.progress = cmp.Or(end, io.EOF), nil
	if k.heads != nil && k.size() < headLeast*flows {
		k.shrink()
	}
}

// size returns the bytes of memory that the heads take.
func (k *kept) size() (n int) {
	for i := range k.heads {
		n += k.heads[i].Size()
	}
	return n
}

// shrink keeps sums in place of the heads.
func (k *kept) shrink() {
	k.sums = make([][]uint32, len(k.heads))
	for i := range k.heads {
		k.sums[i] = k.heads[i].Sums()
	}
	k.heads = nil
}

// reading returns as, with what was kept in place of the captures, or of checks of the ICRC if all were right.
func (k kept) reading(as anew, h *trace.Header, right bool) anew {
	switch {
	case k.heads != nil && h.Taps != [2]bool{true, true}:
		return func(f func(*captureFiles) error) error {
			c := &captureFiles{}
			for i := range k.heads {
				c.sources = append(c.sources, k.heads[i].Source(k.end))
			}
			return f(c)
		}
	case k.heads == nil && right:
		return func(f func(*captureFiles) error) error {
			return as(func(c *captureFiles) error {
				for i := range c.sources {
					c.sources[i] = &capture.Sound{Source: c.sources[i], Sums: k.sums[i]}
				}
				return f(c)
			})
		}
	}
	return as
}
