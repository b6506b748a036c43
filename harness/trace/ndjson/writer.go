// Package ndjson writes a trace as lines of JSON, one per packet or event, and reads it back. FORMAT.md of package
// trace describes the lines.
//
// Frames are not part of the form; they are in the captures beside it. Lines are read without a general JSON decoder,
// because a run has 10^7 of them.
package ndjson

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Writer writes a trace as NDJSON; FORMAT.md of package trace describes the lines. It is a trace.Sink. The first error
// of the underlying writer ends the output and is reported by Flush.
type Writer struct {
	w   *bufio.Writer
	buf []byte
	err error
}

// headerLine is the first line.
type headerLine struct {
	Gauntlet string     `json:"gauntlet"`
	Version  int        `json:"version"`
	Bench    string     `json:"bench"`
	Dilated  int        `json:"dilated,omitempty"`
	Taps     string     `json:"taps"`
	Reports  []string   `json:"reports"`
	Declares *[2]string `json:"declares,omitempty"`
	Conns    int        `json:"conns"`
}

// connLine is one connection. The attributes of a QP keep the names that package engine gives them.
type connLine struct {
	Conn int     `json:"conn"`
	A    endLine `json:"a"`
	B    endLine `json:"b"`
	Hop  string  `json:"hop,omitempty"`
}

type endLine struct {
	Addr netip.Addr `json:"addr"`
	Port uint16     `json:"port"`
	Impl string     `json:"impl,omitempty"`
	QP   engine.QP  `json:"qp"`

	Misaddressed []uint32 `json:"misaddressed,omitempty"`

	Known bool `json:"known"`

	Reports trace.Reports `json:"reports,omitempty"`
}

// NewWriter writes the header and returns a trace.Sink for the stream. Header.Bytes is not written, because frames are
// not part of the form.
func NewWriter(w io.Writer, h *trace.Header) (*Writer, error) {
	out := &Writer{w: bufio.NewWriterSize(w, 1<<16)}
	first := headerLine{Gauntlet: "trace", Version: trace.FormatVersion, Bench: h.Bench, Taps: tapNames(h),
		Dilated: h.Dilated, Reports: h.Reports.Names(), Conns: len(h.Conns)}
	if h.Declares != [2]string{} {
		first.Declares = &h.Declares
	}
	out.marshal(first)
	for i := range h.Conns {
		c := &h.Conns[i]
		out.marshal(connLine{i, endLine(c.Ends[trace.A]), endLine(c.Ends[trace.B]), c.Hop.String()})
	}
	return out, out.err
}

// between is the value of taps for a tap between the sides.
const between = "between"

// tapNames spells a set of taps: "A", "B", "AB" or "between".
func tapNames(h *trace.Header) string {
	if h.Between {
		return between
	}
	s := ""
	for _, side := range []trace.Side{trace.A, trace.B} {
		if h.Taps[side] {
			s += side.String()
		}
	}
	return s
}

// marshal writes a line of the header or a connection with encoding/json.
func (w *Writer) marshal(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		w.fail(err)
		return
	}
	w.line(append(b, '\n'))
}

// fail keeps the first error; later ones are consequences.
func (w *Writer) fail(err error) {
	if w.err == nil {
		w.err = fmt.Errorf("trace: write NDJSON: %w", err)
	}
}

// line writes a line unless an earlier one failed, so that no line is missing inside a trace.
func (w *Writer) line(b []byte) {
	if w.err != nil {
		return
	}
	if _, err := w.w.Write(b); err != nil {
		w.fail(err)
	}
}

// Flush writes buffered data and returns the first error.
func (w *Writer) Flush() error {
	if w.err == nil {
		if err := w.w.Flush(); err != nil {
			w.fail(err)
		}
	}
	return w.err
}

// Packet implements trace.Sink.
func (w *Writer) Packet(r *trace.Record) {
	b := append(w.buf[:0], '{')
	b = appendPacket(b, &r.Packet, r.Sum, r.ICRC, r.Defect)
	if r.Sent != vtime.Never {
		b = appendInt(b, "sent_ps", int64(r.Sent))
	}
	if r.Recv != vtime.Never {
		b = appendInt(b, "recv_ps", int64(r.Recv))
	}
	b = appendString(b, "from", r.From.String())
	b = appendNonZero(b, "conn", int64(r.Conn))
	b = appendString(b, "fate", r.Fate.String())
	b = appendText(b, "cause", r.Cause)
	if r.Copy {
		b = append(b, `,"copy":true`...)
	}
	b = appendNonZero(b, "wire", int64(r.WireBytes))
	if c := r.Changed; c != nil {
		b = append(b, `,"changed":{`...)
		b = append(appendPacket(b, &c.Packet, c.Sum, c.ICRC, c.Defect), '}')
	}
	w.buf = append(b, "}\n"...)
	w.line(w.buf)
}

// Event implements trace.Sink.
func (w *Writer) Event(e *trace.Event) {
	b := append(w.buf[:0], `{"event":"`...)
	b = append(append(b, e.Kind.String()...), '"')
	b = appendInt(b, "at_ps", int64(e.At))
	b = appendString(b, "side", e.Side.String())
	b = appendNonZero(b, "conn", int64(e.Conn))
	if body := &e.Body; e.Kind <= trace.Fatal || e.Kind >= trace.Declared && e.Kind < trace.Idle {
		b = appendUint(b, "wr", body.ID)
		b = appendString(b, "op", body.Op.String())
		b = appendString(b, "status", body.Status.String())
		b = appendUint(b, "bytes", uint64(body.Len))
		b = appendUint(b, "imm", uint64(body.Imm))
		b = appendUint(b, "inv", uint64(body.InvKey))
		b = appendUint(b, "psn", uint64(body.PSN))
		b = appendUint(b, "peer", uint64(body.Peer))
		if body.More {
			b = append(b, `,"more":true`...)
		}
	}
	b = appendText(b, "name", e.Name)
	b = appendNonZero(b, "value", e.Value)
	b = appendUint(b, "va", e.VA)
	b = appendUint(b, "len", uint64(e.Len))
	b = appendUint(b, "sum", uint64(e.Sum))
	b = appendUint(b, "rkey", uint64(e.RKey))
	if e.Kind == trace.Timer && e.Deadline != vtime.Never {
		b = appendInt(b, "deadline_ps", int64(e.Deadline))
	}
	w.buf = append(b, "}\n"...)
	w.line(w.buf)
}

// End implements trace.Sink.
func (w *Writer) End(at vtime.Time) {
	b := append(w.buf[:0], `{"end_ps":`...)
	b = strconv.AppendInt(b, int64(at), 10)
	w.buf = append(b, "}\n"...)
	w.line(w.buf)
	if err := w.Flush(); err != nil {
		w.fail(err)
	}
}

// icrcNames spell Integrity; Unchecked is not written.
var icrcNames = [...]string{"", "good", "bad"}

// appendPacket writes the fields that the sent and the changed form of a packet have, the first without a comma.
func appendPacket(b []byte, p *roce.Packet, sum uint32, icrc trace.Integrity, defect string) []byte {
	b = append(b, `"pkt":"`...)
	b = p.AppendText(b, roce.TextOptions{})
	b = append(b, '"')
	b = appendUint(b, "sum", uint64(sum))
	if icrc != trace.Unchecked {
		b = appendString(b, "icrc", icrcNames[icrc%3])
	}
	return appendText(b, "defect", defect)
}

// appendKey begins a field that is not the first of its object.
func appendKey(b []byte, key string) []byte {
	b = append(b, ',', '"')
	b = append(b, key...)
	return append(b, '"', ':')
}

// appendInt writes a field even when it is zero.
func appendInt(b []byte, key string, n int64) []byte {
	return strconv.AppendInt(appendKey(b, key), n, 10)
}

// appendNonZero writes a field unless it is zero.
func appendNonZero(b []byte, key string, n int64) []byte {
	if n == 0 {
		return b
	}
	return appendInt(b, key, n)
}

// appendUint writes a field unless it is zero.
func appendUint(b []byte, key string, n uint64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendUint(appendKey(b, key), n, 10)
}

// appendString writes a constant of this package, which needs no escapes.
func appendString(b []byte, key, s string) []byte {
	b = append(appendKey(b, key), '"')
	b = append(b, s...)
	return append(b, '"')
}

// appendText writes any string unless it is empty.
func appendText(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\' {
			// Marshalling a string never fails.
			text, _ := json.Marshal(s)
			return append(appendKey(b, key), text...)
		}
	}
	return appendString(b, key, s)
}
