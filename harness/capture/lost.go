package capture

import (
	"encoding/binary"
	"io"
	"math/bits"
)

// losses parses the blocks of a pcapng file as they are read, to count the frames that each interface reports as lost.
// Package pcapgo, which reads the frames, provides neither isb_osdrop nor the number of frames per interface.
type losses struct {
	in    io.Reader
	order binary.ByteOrder // byte order of the section
	block []byte           // bytes of the block that have been read, up to want
	want  int              // bytes of the block that are needed
	skip  uint64           // bytes to the end of the block that are not needed
	lost  bool             // the rest is not parsed, because it is not a block; the reader reports that

	faces   []counters // interfaces of the section
	earlier totals     // totals of the previous sections
}

// counters are the counts of one interface.
type counters struct {
	frames   uint64 // frames of the interface in the file
	says     bool   // its statistics have a drop count
	dropped  uint64 // frames that interface and operating system lost (isb_ifdrop, isb_osdrop)
	accepted uint64 // frames that passed the filter (isb_filteraccept); 0 when unknown
	os       uint64 // frames that the operating system lost, part of dropped (isb_osdrop)
}

// totals are the counts of several interfaces.
type totals struct {
	lost   uint64
	silent bool // an interface has frames and no drop count
}

// The blocks and fields of pcapng that are parsed (draft-ietf-opsawg-pcapng, sections 4.1 to 4.6).
const (
	blockHead    = 8 // type and length
	blockSection = 0x0A0D0D0A
	blockFace    = 1
	blockSimple  = 3
	blockStats   = 5
	blockPacket  = 6
	blockLimit   = 1 << 12 // most bytes of statistics that are parsed

	statsHead        = blockHead + 12 // interface and time stamp
	statDropped      = 5
	statAccepted     = 6
	statDroppedBySys = 7
)

// Read implements io.Reader.
func (l *losses) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	for b := p[:n]; len(b) > 0 && !l.lost; {
		b = l.pass(b)
	}
	return n, err
}

// pass consumes bytes of the current block, and returns the rest.
func (l *losses) pass(b []byte) []byte {
	if l.skip > 0 {
		n := min(l.skip, uint64(len(b)))
		l.skip -= n
		return b[n:]
	}
	l.want = max(l.want, blockHead)
	n := min(l.want-len(l.block), len(b))
	l.block = append(l.block, b[:n]...)
	if len(l.block) < l.want {
		return nil
	}
	if more := l.matters(); more > l.want {
		l.want = more
		return b[n:]
	}
	if !l.lost {
		l.take()
	}
	l.block, l.want = l.block[:0], 0
	return b[n:]
}

// matters returns the number of bytes of the block that are needed.
func (l *losses) matters() int {
	kind := binary.LittleEndian.Uint32(l.block)
	if kind == blockSection { // the same in both orders
		return blockHead + 4
	}
	if l.order == nil {
		l.lost = true
		return 0
	}
	switch kind, length := l.order.Uint32(l.block), l.order.Uint32(l.block[4:]); kind {
	case blockPacket:
		return min(blockHead+4, int(length))
	case blockStats:
		return int(min(length, blockLimit))
	}
	return blockHead
}

// take processes the needed bytes of a block.
func (l *losses) take() {
	if binary.LittleEndian.Uint32(l.block) == blockSection {
		l.section()
	}
	length := uint64(l.order.Uint32(l.block[4:]))
	if l.lost = l.lost || length < blockHead+4 || length < uint64(len(l.block)); l.lost {
		return
	}
	l.skip = length - uint64(len(l.block))
	switch l.order.Uint32(l.block) {
	case blockFace:
		if len(l.faces) == facesLimit {
			l.earlier.silent = true
			return
		}
		l.faces = append(l.faces, counters{})
	case blockSimple:
		l.frame(0)
	case blockPacket:
		l.frame(l.order.Uint32(l.block[blockHead:]))
	case blockStats:
		l.statistics()
	}
}

// facesLimit bounds the interfaces per section whose losses are counted.
const facesLimit = 1 << 12

// section begins a section.
func (l *losses) section() {
	const magic = 0x1A2B3C4D
	l.earlier, l.faces = l.totals(), l.faces[:0]
	l.order = binary.BigEndian
	if binary.LittleEndian.Uint32(l.block[blockHead:]) == magic {
		l.order = binary.LittleEndian
	}
}

// frame counts a frame of an interface.
func (l *losses) frame(of uint32) {
	if uint64(of) < uint64(len(l.faces)) {
		l.faces[of].frames++
	}
}

// statistics processes the statistics of an interface. They count from the beginning of the capture, so later ones
// replace earlier ones.
func (l *losses) statistics() {
	if len(l.block) < statsHead {
		return
	}
	of := l.order.Uint32(l.block[blockHead:])
	if uint64(of) >= uint64(len(l.faces)) {
		return
	}
	c := counters{frames: l.faces[of].frames}
	for b := l.block[statsHead:]; len(b) >= 4; {
		code, length := l.order.Uint16(b), int(l.order.Uint16(b[2:]))
		if b = b[4:]; code == 0 || length > len(b) {
			break
		}
		if length == 8 {
			c.option(code, l.order.Uint64(b))
		}
		b = b[min((length+3)&^3, len(b)):]
	}
	l.faces[of] = c
}

// option processes an option of the statistics.
func (c *counters) option(code uint16, n uint64) {
	switch code {
	case statDropped:
		c.says, c.dropped = true, plus(c.dropped, n)
	case statDroppedBySys:
		c.says, c.dropped, c.os = true, plus(c.dropped, n), n
	case statAccepted:
		c.accepted = n
	}
}

// totals returns the counts of the file so far. Frames that passed the filter and are neither in the file nor among
// those that the operating system dropped count as lost.
func (l *losses) totals() totals {
	sum := l.earlier
	for _, c := range l.faces {
		sum.lost = plus(sum.lost, c.dropped)
		if held := plus(c.frames, c.os); c.accepted > held {
			sum.lost = plus(sum.lost, c.accepted-held)
		}
		sum.silent = sum.silent || c.frames > 0 && !c.says
	}
	return sum
}

// plus adds counts, which come from the file, without overflow.
func plus(a, b uint64) uint64 {
	sum, over := bits.Add64(a, b, 0)
	return sum | -over
}
