package injector

import (
	"encoding/binary"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/loss"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// feeder draws the fates of the frames of one direction before they come. They lie in a ring, and the program takes no
// fate that has not been drawn: a frame that comes too early passes, and is counted.
type feeder struct {
	memory  *memory
	side    int
	process loss.Process
	drawn   uint64 // frames whose fates are in the ring, or were
}

// The feeder stays so many fates behind those that are in use, because a frame may still be looking its own up.
const feederMargin = 1 << 16

// feed fills the ring as far as there is room.
func (f *feeder) feed() error {
	room := f.memory.counter(f.side, cOffered) + ringBits - feederMargin
	if f.drawn >= room {
		return nil
	}
	memory, err := f.memory.fates.Memory()
	if err != nil {
		return fmt.Errorf("injector: fates: %w", err)
	}
	const page = 1 << 13 // bits; a divisor of the ring
	for ; f.drawn+page <= room; f.drawn += page {
		var bits [page / 64]uint64
		for i := range page {
			if f.process.Lose(0) {
				bits[i/64] |= 1 << (i % 64)
			}
		}
		raw := make([]byte, 0, page/8)
		for _, w := range bits {
			raw = binary.NativeEndian.AppendUint64(raw, w)
		}
		at := f.side*ringLen + int(f.drawn%ringBits/8)
		if _, err := memory.WriteAt(raw, int64(at)); err != nil {
			return fmt.Errorf("injector: fates: %w", err)
		}
	}
	return f.memory.put(f.side*sideLen+cLimit*wordLen, f.drawn)
}

// asked is how many of the first n frames of a direction a loss process takes.
func asked(l spec.Link, seed, n uint64) (lost uint64, err error) {
	if l.Loss.Model == spec.NoLoss {
		return 0, nil
	}
	p, err := channel.Losses(l, seed)
	if err != nil {
		return 0, err
	}
	for range n {
		if p.Lose(0) {
			lost++
		}
	}
	return lost, nil
}
