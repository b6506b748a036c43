// Package capture reads and writes what taps capture: Ethernet frames with their times, in pcap and pcapng files or from any other
// Source.
//
// Captures that this package wrote have comments that say what became of each frame, so that they give back the trace from which they
// were written (Reunite). Captures of other programs have frames alone: package merge makes a trace of those, and package recording
// finds out what they are of.
package capture

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ndjson"
)

// Reader reads frames from a pcap or pcapng file, plain or compressed with gzip, one at a time. Frames that are not
// RoCEv2 are skipped and counted. Ethernet, raw IP and both forms of Linux cooked capture are understood.
type Reader struct {
	ng      *pcapgo.NgReader
	classic *pcapgo.Reader
	link    layers.LinkType // of a classic file
	buf     []byte          // frame with an Ethernet header made up
	header  *trace.Header   // from the comment of our own files
	stats   Stats
	words   map[string]string
}

// Stats counts what a capture holds.
type Stats struct {
	Frames  uint64 // RoCEv2 frames returned
	Foreign uint64 // other frames, skipped
	Cut     uint64 // RoCEv2 frames of which the capture kept a part only
	Dropped uint64 // frames that the capturing system says it lost
}

// Limits of a capture.
const (
	frameLimit = 256 << 10 // bytes of what is taken for a frame
	wordLimit  = 1 << 12   // different causes that are kept as one string each
)

// NewReader reads the file header.
func NewReader(r io.Reader) (*Reader, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1F, 0x8B}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("capture: %w", err)
		}
		in = bufio.NewReaderSize(z, 1<<16)
	}
	magic, err := in.Peek(4)
	if err != nil {
		return nil, errors.New("capture: shorter than a pcap header; is it a capture file?")
	}
	c := &Reader{words: map[string]string{}}
	if binary.BigEndian.Uint32(magic) == 0x0A0D0D0A {
		return c, c.openNG(in)
	}
	if c.classic, err = pcapgo.NewReader(in); err != nil {
		return nil, fmt.Errorf("capture: neither pcap nor pcapng: %w", err)
	}
	c.link = c.classic.LinkType()
	if err := knownLink(c.link); err != nil {
		return nil, err
	}
	return c, nil
}

// openNG reads the section header. Mixed link types are normal: a capture on all interfaces has them.
func (c *Reader) openNG(in io.Reader) (err error) {
	opt := pcapgo.NgReaderOptions{WantMixedLinkType: true, SkipUnknownVersion: true}
	opt.StatisticsCallback = func(_ int, s pcapgo.NgInterfaceStatistics) {
		if s.PacketsDropped != pcapgo.NgNoValue64 {
			c.stats.Dropped += s.PacketsDropped
		}
	}
	if c.ng, err = pcapgo.NewNgReader(in, opt); err != nil {
		return fmt.Errorf("capture: pcapng header: %w", noEOF(err))
	}
	if info := c.ng.SectionInfo(); info.Application == "gauntlet" && info.Comment != "" {
		if r, err := ndjson.NewReader(strings.NewReader(info.Comment)); err == nil {
			c.header = r.Header()
		}
	}
	return nil
}

// noEOF makes an unexpected end of a clean one, where no end is clean.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// knownLink refuses a file of which no frame could be read.
func knownLink(l layers.LinkType) error {
	switch l {
	case layers.LinkTypeEthernet, layers.LinkTypeLinuxSLL, linkSLL2, layers.LinkTypeRaw, linkIPv4, linkIPv6:
		return nil
	}
	return fmt.Errorf("capture: link type %v; want Ethernet, Linux cooked or raw IP", l)
}

// Link types for which the layers package has no name.
const (
	linkSLL2 layers.LinkType = 276
	linkIPv4 layers.LinkType = 228
	linkIPv6 layers.LinkType = 229
)

// Header returns what the captured trace is of, as it stands in files that this package wrote; nil for others.
func (c *Reader) Header() *trace.Header { return c.header }

// Taps returns the sides that interfaces are named after, of those that the frames so far came with.
func (c *Reader) Taps() (taps [2]bool) {
	if c.ng == nil {
		return taps
	}
	for i := range c.ng.NInterfaces() {
		iface, err := c.ng.Interface(i)
		name, _, _ := strings.Cut(iface.Name, ":")
		if side, ok := trace.ParseSide(name); ok && err == nil {
			taps[side] = true
		}
	}
	return taps
}

// Stats returns the counts so far.
func (c *Reader) Stats() Stats { return c.stats }

// Next reads the next RoCEv2 frame into f. The error is io.EOF at the end of a whole file, and trace.ErrTruncated in the
// middle of a frame; what came before is good.
func (c *Reader) Next(f *Frame) error {
	for {
		data, ci, err := c.read(f)
		if err != nil {
			return c.explain(err)
		}
		if len(data) > frameLimit {
			return fmt.Errorf("capture: frame %d has %d bytes; the limit is %d", c.number(), len(data), frameLimit)
		}
		raw, ok := c.ethernet(data, f)
		f.Raw, f.Kept, f.Wall = raw, len(raw), ci.Timestamp
		if missing := min(ci.Length, frameLimit) - len(data); ok && missing > 0 {
			c.buf = append(append(c.buf[:0], raw...), make([]byte, missing)...)
			f.Raw = c.buf
		}
		// What a harness of ours recorded counts even when its port is wrong: that is for a rule to judge.
		if !ok || !f.noted && !isRDMA(f.Raw) {
			c.stats.Foreign++
			continue
		}
		c.stats.Frames++
		if f.Kept < len(f.Raw) {
			c.stats.Cut++
		}
		c.stats.Dropped += f.Dropped
		return nil
	}
}

// number is that of the frame being read, counted from 1 as Wireshark does.
func (c *Reader) number() uint64 { return c.stats.Frames + c.stats.Foreign + 1 }

// explain names the frame at which a file broke, and keeps a clean end clean.
func (c *Reader) explain(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("capture: frame %d: %w", c.number(), trace.ErrTruncated)
	}
	return fmt.Errorf("capture: frame %d: %w", c.number(), err)
}

// read gets the next frame of any kind, and from pcapng what is said about it.
func (c *Reader) read(f *Frame) ([]byte, gopacket.CaptureInfo, error) {
	*f = Frame{}
	if c.classic != nil {
		data, ci, err := c.classic.ZeroCopyReadPacketData()
		if ci.CaptureLength > 0 && err != nil {
			// There was a header, so an end is too early.
			err = noEOF(err)
		}
		return data, ci, err
	}
	data, ci, opt, err := c.ng.ZeroCopyReadPacketDataWithOptions()
	if err != nil {
		return nil, ci, err
	}
	if len(ci.AncillaryData) > 0 {
		c.link, _ = ci.AncillaryData[0].(layers.LinkType)
	}
	if iface, err := c.ng.Interface(ci.InterfaceIndex); err == nil {
		name, _, ok := strings.Cut(iface.Name, ":")
		f.Tap, f.HasTap = trace.ParseSide(name)
		f.HasTap = f.HasTap && ok
	}
	if opt.Flags != nil {
		switch opt.Flags.Direction {
		case pcapgo.NgEpbFlagDirectionInbound:
			f.Way = Inward
		case pcapgo.NgEpbFlagDirectionOutbound:
			f.Way = Outward
		}
	}
	if opt.DropCount != nil {
		f.Dropped = *opt.DropCount
	}
	for _, text := range opt.Comments {
		if n, ok := parseNote(text); ok && c.header != nil {
			n.cause = c.intern(n.cause)
			f.note, f.noted = n, true
		}
	}
	return data, ci, nil
}

// intern keeps each cause once. It may be anybody's text, so it is cleaned.
func (c *Reader) intern(s string) string {
	if known, ok := c.words[s]; ok {
		return known
	}
	if len(c.words) < wordLimit {
		c.words[s] = quote.Line(s, quote.Sentence)
		return c.words[s]
	}
	return quote.Line(s, quote.Sentence)
}

// ethernet gives frames of other links an Ethernet header, so that one decoder serves all.
func (c *Reader) ethernet(data []byte, f *Frame) ([]byte, bool) {
	skip, proto := 0, uint16(0)
	switch c.link {
	case layers.LinkTypeEthernet:
		return c.untagged(data), true
	case layers.LinkTypeLinuxSLL:
		if skip = 16; len(data) < skip {
			return nil, false
		}
		proto = binary.BigEndian.Uint16(data[14:])
		f.cooked(data[1])
	case linkSLL2:
		if skip = 20; len(data) < skip {
			return nil, false
		}
		proto = binary.BigEndian.Uint16(data)
		f.cooked(data[10])
	case layers.LinkTypeRaw, linkIPv4, linkIPv6:
		if len(data) == 0 {
			return nil, false
		}
		proto = 0x0800
		if data[0]>>4 == 6 {
			proto = 0x86DD
		}
	default:
		return nil, false
	}
	var header [14]byte
	binary.BigEndian.PutUint16(header[12:], proto)
	c.buf = append(append(c.buf[:0], header[:]...), data[skip:]...)
	return c.buf, true
}

// untagged takes off all VLAN tags but the last, and that too when it is not of the customer's kind: whoever carries a frame adds and
// removes them.
func (c *Reader) untagged(data []byte) []byte {
	const addresses, tag, customer = 12, 4, 0x8100
	for len(data) >= addresses+tag+2 {
		kind := binary.BigEndian.Uint16(data[addresses:])
		service := kind == 0x88A8 || kind == 0x9100 || kind == 0x9200
		if !service && (kind != customer || binary.BigEndian.Uint16(data[addresses+tag:]) != customer) {
			break
		}
		c.buf = append(append(c.buf[:0], data[:addresses]...), data[addresses+tag:]...)
		data = c.buf
	}
	return data
}

// cooked takes the direction from the packet type of a cooked capture: 4 was sent by the capturing host.
func (f *Frame) cooked(kind byte) {
	if f.Way == AnyWay {
		f.Way = Inward
		if kind == 4 {
			f.Way = Outward
		}
	}
}

// isRDMA reports whether a frame is addressed to the RoCEv2 port, damaged or not, or belongs to an iWARP run.
func isRDMA(raw []byte) bool {
	if _, _, ok := roce.OverIP(raw); ok {
		return true
	}
	off, _, ok := roce.FieldSpan(raw, "udpdport")
	return ok && binary.BigEndian.Uint16(raw[off:]) == roce.Port
}
