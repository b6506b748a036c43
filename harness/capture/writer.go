package capture

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ndjson"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Tap is a point of capture: one side of a hop.
type Tap struct {
	Side   trace.Side
	Hop    trace.Hop
	Device string // name of the network device
}

// String returns the side, and the hop on a path with a middlebox in it: "A" or "A-lan".
func (t Tap) String() string {
	if t.Hop == trace.Whole {
		return t.Side.String()
	}
	return t.Side.String() + "-" + t.Hop.String()
}

// File returns the name of the tap's capture file in a run folder: "A.pcapng".
func (t Tap) File() string { return t.String() + ".pcapng" }

// Writer writes the frames of one tap as pcapng: Ethernet frames with nanosecond time stamps, each with a comment that
// holds its fate (note). It is a trace.Viewer; a Timeline feeds it.
//
// Sights without bytes cannot be written. They are counted as lost by the capture, so that nobody takes them for frames
// that the link lost.
type Writer struct {
	tap     Tap
	header  *trace.Header
	zero    time.Time
	w       *pcapgo.NgWriter
	buf     []byte
	opt     pcapgo.NgPacketOptions
	flags   pcapgo.NgEpbFlags
	comment [1]string
	written uint64
	skipped uint64
	lost    uint64 // frames that passed the tap and were not captured
	ended   bool
	err     error
}

// optionLimit bounds the bytes of a comment, with some margin below the limit of a pcapng option.
const optionLimit = 60_000

// NewWriter begins the capture file of a tap. Zero is the wall-clock time of vtime 0, for a run in virtual time the
// zero time.Time. The file's comment holds the header, if it fits, so that the file alone can be judged.
func NewWriter(w io.Writer, h *trace.Header, tap Tap, zero time.Time) (*Writer, error) {
	if zero.IsZero() {
		zero = time.Unix(0, 0)
	}
	section := pcapgo.NgSectionInfo{Application: "gauntlet", Comment: headerComment(h)}
	iface := pcapgo.NgInterface{Name: tap.Side.String() + ":" + tap.Device, LinkType: layers.LinkTypeEthernet,
		TimestampResolution: 9}
	out, err := pcapgo.NewNgWriterInterface(w, iface, pcapgo.NgWriterOptions{SectionInfo: section})
	if err != nil {
		return nil, fmt.Errorf("trace: write capture of tap %v: %w", tap.Side, err)
	}
	return &Writer{tap: tap, header: h, zero: zero, w: out}, nil
}

// headerComment returns the header as NDJSON, without its connections when they do not fit in a comment.
func headerComment(h *trace.Header) string {
	var b bytes.Buffer
	w, err := ndjson.NewWriter(&b, h)
	if err != nil || w.Flush() != nil {
		return ""
	}
	if b.Len() > optionLimit {
		short := *h
		short.Conns = nil
		return headerComment(&short)
	}
	return b.String()
}

// Sight implements trace.Viewer.
func (w *Writer) Sight(s *trace.Sight) {
	if s.Tap != w.tap.Side || w.header.On(s.Rec.Conn) != w.tap.Hop || w.err != nil {
		return
	}
	if s.Raw == nil {
		w.skipped++
		return
	}
	w.buf = appendNote(w.buf[:0], s)
	w.comment[0] = string(w.buf)
	w.flags.Direction = pcapgo.NgEpbFlagDirectionInbound
	if s.Out {
		w.flags.Direction = pcapgo.NgEpbFlagDirectionOutbound
	}
	w.opt.Comments, w.opt.Flags = w.comment[:], &w.flags
	ci := gopacket.CaptureInfo{
		Timestamp:     w.zero.Add(s.At.Sub(0).Std()),
		CaptureLength: len(s.Raw), Length: len(s.Raw),
	}
	if err := w.w.WritePacketWithOptions(ci, s.Raw, w.opt); err != nil {
		w.err = fmt.Errorf("trace: write capture of tap %v: %w", w.tap.Side, err)
		return
	}
	w.written++
}

// Lost adds frames that passed the tap and were not captured. The statistics at the end of the file count them,
// together with the sights without bytes.
func (w *Writer) Lost(frames uint64) { w.lost += frames }

// Event implements trace.Viewer; captures have no events.
func (w *Writer) Event(*trace.Event) {}

// End implements trace.Viewer.
func (w *Writer) End(at vtime.Time) {
	if !w.ended && w.err == nil {
		lost := w.lost + w.skipped
		w.ended, w.err = true, w.w.WriteInterfaceStats(0,
			pcapgo.NgInterfaceStatistics{LastUpdate: w.zero.Add(at.Sub(0).Std()),
				PacketsReceived: w.written + lost, PacketsDropped: lost})
	}
	if err := w.w.Flush(); err != nil && w.err == nil {
		w.err = fmt.Errorf("trace: write capture of tap %v: %w", w.tap.Side, err)
	}
}

// Flush writes buffered data, and returns the number of sights without bytes and the first error.
func (w *Writer) Flush() (skipped uint64, err error) {
	w.End(0)
	return w.skipped, w.err
}
