package capture

import (
	"encoding/binary"
	"io"
	"math/bits"
)

// losses follows the blocks of a pcapng file while they are read, for what each interface says that it lost. Package
// pcapgo, which reads the frames, hands on no isb_osdrop, and no count of frames that belong to an interface.
type losses struct {
	in    io.Reader
	order binary.ByteOrder // of the section
	block []byte           // what has passed of the block, as far as it matters
	want  int              // how much of it that is
	skip  uint64           // bytes to its end that do not matter
	lost  bool             // what follows is no block, which is for the reader to say

	faces   []counters // of the interfaces of the section
	earlier totals     // of the sections before
}

// counters are what is counted of one interface.
type counters struct {
	frames   uint64 // in the file
	says     bool   // there are statistics of it
	dropped  uint64 // frames that interface and operating system lost (isb_ifdrop, isb_osdrop)
	accepted uint64 // frames that passed the filter (isb_filteraccept); 0 when nobody says
	os       uint64 // of those, the ones that the operating system lost
}

// totals are what is counted of several interfaces.
type totals struct {
	lost   uint64
	silent bool // an interface has frames, and does not say what it lost
}

// The parts of pcapng that matter (draft-ietf-opsawg-pcapng, sections 4.1 to 4.6).
const (
	blockHead    = 8 // type and length
	blockSection = 0x0A0D0D0A
	blockFace    = 1
	blockSimple  = 3
	blockStats   = 5
	blockPacket  = 6
	blockLimit   = 1 << 12 // bytes of statistics that are looked at

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

// pass takes the next bytes, and returns those that are of the next block.
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

// matters returns how many bytes of the block have to be seen.
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

// take takes what the block says.
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

// facesLimit bounds the interfaces of a section of which losses are counted.
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

// statistics takes those of an interface, which count from the beginning of the capture: later ones hold for earlier
// ones.
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

// option takes an option of the statistics.
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

// totals adds up what the file says so far. What passed the filter and is neither in the file nor among what the system
// dropped is lost too.
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

// plus adds counts that anybody may have made up.
func plus(a, b uint64) uint64 {
	sum, over := bits.Add64(a, b, 0)
	return sum | -over
}
