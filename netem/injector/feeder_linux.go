package injector

import (
	"encoding/binary"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/loss"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// feeder draws the fates of the frames of one direction ahead of time. The fates are in a ring, and the program uses no
// fate that has not been drawn: a frame that is too early passes, and is counted.
type feeder struct {
	memory  *memory
	side    int
	process loss.Process
	drawn   uint64 // fates drawn since the start
}

// feederMargin is the number of fates that the feeder leaves unchanged behind those in use, because a program may still
// be reading the fate of an earlier frame.
const feederMargin = 1 << 16

// feed draws fates as long as the ring has room.
func (f *feeder) feed() error {
	room := f.memory.counter(f.side, cOffered) + ringBits - feederMargin
	if f.drawn >= room {
		return nil
	}
	memory, err := f.memory.fates.Memory()
	if err != nil {
		return fmt.Errorf("injector: fates: %w", err)
	}
	const page = 1 << 13 // bits; it divides ringBits
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

// asked returns how many of the first n frames of a direction its loss process loses.
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
