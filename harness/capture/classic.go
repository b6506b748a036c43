package capture

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math/bits"
	"time"

	"github.com/gopacket/gopacket/layers"
)

// The headers of a pcap file and of a record, in bytes.
const (
	pcapHeader   = 24
	recordHeader = 16
)

// classic reads the records of a pcap file (draft-ietf-opsawg-pcap) in place in the buffer, which is large enough for
// any record: copying took most of the time of reading a large capture.
type classic struct {
	in      *bufio.Reader
	swapped bool          // the byte order of the file is big-endian
	unit    time.Duration // unit of the fraction of a second in time stamps
	link    layers.LinkType
	ahead   []byte // the buffer of in, from the record that was returned last on
	used    int    // bytes of the buffer before ahead
	shown   int    // bytes of the record that was returned last
}

// newClassic reads the header of a file.
func newClassic(in *bufio.Reader) (*classic, error) {
	c := &classic{in: in, unit: time.Microsecond, shown: pcapHeader}
	b, short := c.peek(pcapHeader)
	if len(b) < 4 {
		return nil, fmt.Errorf("capture: pcap header: %w", noEOF(short))
	}
	switch magic := binary.LittleEndian.Uint32(b); magic {
	case 0xA1B2C3D4:
	case 0xA1B23C4D:
		c.unit = time.Nanosecond
	case 0xD4C3B2A1:
		c.swapped = true
	case 0x4D3CB2A1:
		c.swapped, c.unit = true, time.Nanosecond
	default:
		return nil, fmt.Errorf("capture: neither pcap nor pcapng: it begins with %08x", bits.ReverseBytes32(magic))
	}
	if short != nil {
		return nil, fmt.Errorf("capture: pcap header: %w", noEOF(short))
	}
	version := c.word(b[4:])
	if c.swapped {
		version = version>>16 | version<<16
	}
	if version != 2|4<<16 {
		return nil, fmt.Errorf("capture: pcap version %d.%d; want 2.4", version&0xFFFF, version>>16)
	}
	c.link = layers.LinkType(c.word(b[20:]))
	return c, nil
}

// word reads a number of 32 bits.
func (c *classic) word(b []byte) uint32 {
	w := binary.LittleEndian.Uint32(b)
	if c.swapped {
		w = bits.ReverseBytes32(w)
	}
	return w
}

// peek returns the next n bytes. It asks the buffer only when ahead has less.
func (c *classic) peek(n int) ([]byte, error) {
	if len(c.ahead) < n {
		_, _ = c.in.Discard(c.used) // they are in the buffer
		c.used = 0
		if b, err := c.in.Peek(n); err != nil {
			return b, err
		}
		c.ahead, _ = c.in.Peek(c.in.Buffered())
	}
	return c.ahead[:n], nil
}

// next returns the next record: its bytes, which are valid until the next call, its capture time, and the length of the
// frame on the wire. The error is io.EOF at the end of a complete file.
func (c *classic) next() (data []byte, at time.Time, length int, err error) {
	c.ahead, c.used, c.shown = c.ahead[c.shown:], c.used+c.shown, 0
	h, err := c.peek(recordHeader)
	if err != nil {
		if len(h) > 0 {
			err = noEOF(err)
		}
		return nil, at, 0, err
	}
	at = time.Unix(int64(c.word(h)), int64(c.word(h[4:]))*int64(c.unit)).UTC()
	kept, length := int(c.word(h[8:])), int(c.word(h[12:]))
	switch {
	case kept > frameLimit:
		return nil, at, 0, errLong{kept}
	case kept > length:
		return nil, at, 0, fmt.Errorf("%d bytes captured of a frame of %d", kept, length)
	}
	if h, err = c.peek(recordHeader + kept); err != nil {
		return nil, at, 0, noEOF(err)
	}
	c.shown = len(h)
	return h[recordHeader:], at, length, nil
}

// errLong is the error of a record longer than frameLimit.
type errLong struct{ bytes int }

// Error implements error.
func (e errLong) Error() string { return fmt.Sprintf("%d bytes; the limit is %d", e.bytes, frameLimit) }
