// Package capture reads and writes captured frames: Ethernet frames with their times, in pcap and pcapng files or from
// any other Source.
//
// Captures that this package wrote have comments with the fate of each frame, from which Reunite restores the trace.
// Captures of other programs have frames alone: package recording derives their connections, and package merge makes a
// trace of them.
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

	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ndjson"
)

// Reader reads frames from a pcap or pcapng file, plain or compressed with gzip, one at a time. Frames that are not
// RoCEv2 are skipped and counted. Ethernet, raw IP, both forms of Linux cooked capture, BSD loopback and MPLS are
// understood, and tunnels that carry them: VXLAN, Geneve, GRE, ERSPAN, MPLS and IP-in-IP.
type Reader struct {
	ng      *pcapgo.NgReader
	classic *classic
	link    layers.LinkType // link type of the frame, or of a classic file
	buf     []byte          // a frame with an added Ethernet header, or with zeros for bytes cut off
	spare   []byte          // a frame without VLAN tags
	header  *trace.Header   // from the comment of files that this package wrote
	stats   Stats
	words   map[string]string
	losses  *losses // nil for a classic file
}

// Stats counts the frames of a capture.
type Stats struct {
	Frames  uint64            // RoCEv2 frames returned
	Foreign uint64            // other frames, which are skipped
	Kinds   map[string]uint64 // Foreign by protocol
	Tunnels map[string]uint64 // RoCEv2 frames that a tunnel carried, by tunnel
	Cut     uint64            // RoCEv2 frames of which the capture kept only a part
	Dropped uint64            // frames that the capturing system counted as lost
	Counted bool              // the capturing system counts lost frames; otherwise Dropped 0 proves nothing
}

// skip counts a foreign frame.
func (s *Stats) skip(kind string) {
	if _, known := s.Kinds[kind]; !known && len(s.Kinds) == kindLimit {
		kind = "others"
	}
	count(&s.Kinds, kind)
}

// count adds one to a count; it makes the map if needed.
func count(of *map[string]uint64, what string) {
	if *of == nil {
		*of = map[string]uint64{}
	}
	(*of)[what]++
}

// Limits of a capture.
const (
	kindLimit  = 32        // kinds of skipped frames with a count of their own
	frameLimit = 256 << 10 // most bytes of a frame
	readAhead  = frameLimit + recordHeader
	wordLimit  = 1 << 12 // most causes that are interned
)

// NewReader reads the file header.
func NewReader(r io.Reader) (*Reader, error) {
	in := bufio.NewReaderSize(r, readAhead)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1F, 0x8B}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("capture: %w", err)
		}
		in = bufio.NewReaderSize(z, readAhead)
	}
	magic, err := in.Peek(4)
	if err != nil {
		return nil, errors.New("capture: shorter than a pcap header; is it a capture file?")
	}
	c := &Reader{words: map[string]string{}}
	if binary.BigEndian.Uint32(magic) == 0x0A0D0D0A {
		return c, c.openNG(in)
	}
	if c.classic, err = newClassic(in); err != nil {
		return nil, err
	}
	c.link = c.classic.link
	if err := knownLink(c.link); err != nil {
		return nil, err
	}
	return c, nil
}

// openNG reads the section header. Mixed link types are normal: a capture on all interfaces has them.
func (c *Reader) openNG(in io.Reader) (err error) {
	opt := pcapgo.NgReaderOptions{WantMixedLinkType: true, SkipUnknownVersion: true}
	c.losses = &losses{in: in}
	if c.ng, err = pcapgo.NewNgReader(bufio.NewReaderSize(c.losses, readAhead), opt); err != nil {
		return fmt.Errorf("capture: pcapng header: %w", noEOF(err))
	}
	if info := c.ng.SectionInfo(); info.Application == "gauntlet" && info.Comment != "" {
		if r, err := ndjson.NewReader(strings.NewReader(info.Comment)); err == nil {
			c.header = r.Header()
		}
	}
	return nil
}

// noEOF turns io.EOF into io.ErrUnexpectedEOF, for reads inside a record.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Header returns the header of the captured trace, from a file that this package wrote; nil for other files.
func (c *Reader) Header() *trace.Header { return c.header }

// Taps returns the sides after which the interfaces known so far are named.
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
func (c *Reader) Stats() Stats {
	s := c.stats
	if c.losses != nil {
		t := c.losses.totals()
		s.Dropped, s.Counted = max(s.Dropped, t.lost), !t.silent
	}
	return s
}

// Next reads the next RoCEv2 frame into f, without its tunnels; also one to another port, which counts as foreign. The
// error is io.EOF at the end of a complete file, and trace.ErrTruncated in the middle of a frame; all frames before are
// good.
func (c *Reader) Next(f *Frame) error {
	for {
		data, length, err := c.read(f)
		if err == nil && len(data) > frameLimit {
			err = errLong{len(data)}
		}
		if err != nil {
			return c.explain(err)
		}
		missing := max(0, min(length, frameLimit)-len(data))
		if !c.take(f, data, missing) {
			if c.stats.Foreign++; f.AnotherPort {
				return nil
			}
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

// take sets f to the RoCEv2 frame in data, of which missing bytes were cut off, and reports whether there is one. A
// frame that this harness recorded is taken even if its port is wrong: a rule judges that.
func (c *Reader) take(f *Frame, data []byte, missing int) bool {
	raw, ok := c.ethernet(data, f)
	if !ok {
		c.stats.skip("too short")
		return false
	}
	f.Raw, f.Kept = c.filled(raw, missing), len(raw)
	if f.noted || isRoCE(f.Raw) {
		return true
	}
	p, around := unwrap(raw, missing)
	if around != nil {
		raw = c.untagged(around)
	} else {
		raw = c.underEthernet(p.kind, p.data)
	}
	f.Raw, f.Kept = c.filled(raw, min(p.cut, frameLimit)), len(raw)
	if !isRoCE(f.Raw) {
		c.stats.skip(p.what())
		f.AnotherPort = c.header == nil && f.Kept == len(f.Raw) && roce.ToAnotherPort(f.Raw)
		return false
	}
	if p.by != "" {
		count(&c.stats.Tunnels, p.by)
	}
	return true
}

// filled returns a frame with zeros for its missing bytes.
func (c *Reader) filled(raw []byte, missing int) []byte {
	if missing == 0 {
		return raw
	}
	c.buf = append(append(c.buf[:0], raw...), make([]byte, missing)...)
	return c.buf
}

// number returns the number of the frame being read, counted from 1 as in Wireshark.
func (c *Reader) number() uint64 { return c.stats.Frames + c.stats.Foreign + 1 }

// explain adds the number of the frame to an error other than io.EOF.
func (c *Reader) explain(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("capture: frame %d: %w", c.number(), trace.ErrTruncated)
	}
	return fmt.Errorf("capture: frame %d: %w", c.number(), err)
}

// read reads the next frame of any kind with its length, and in pcapng its options.
func (c *Reader) read(f *Frame) (data []byte, length int, err error) {
	*f = Frame{}
	if c.classic != nil {
		data, f.Wall, length, err = c.classic.next()
		return data, length, err
	}
	data, ci, opt, err := c.ng.ZeroCopyReadPacketDataWithOptions()
	if err != nil {
		return nil, 0, err
	}
	f.Wall = ci.Timestamp
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
	return data, ci.Length, nil
}

// intern returns one string for equal causes, cleaned because it comes from the file.
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

// isRoCE reports whether a frame is addressed to the RoCEv2 port, damaged or not.
func isRoCE(raw []byte) bool {
	port, ok := roce.DestinationPort(raw)
	return ok && port == roce.Port
}
