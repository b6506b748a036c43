package ndjson

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Limits of an NDJSON trace.
const (
	lineLimit  = 64 << 10 // bytes of a line
	connLimit  = 1 << 20  // connections
	causeLimit = 1 << 12  // most causes, names and defects that are interned
)

// Reader reads a trace from NDJSON.
type Reader struct {
	r      *bufio.Reader
	header trace.Header
	n      int        // line
	last   vtime.Time // latest time of the stream so far
	rec    trace.Record
	change trace.Change
	event  trace.Event
	words  map[string]string // interned causes, names and defects
}

// NewReader reads the header and the connections.
func NewReader(r io.Reader) (*Reader, error) {
	in := &Reader{r: bufio.NewReaderSize(r, lineLimit), words: map[string]string{}}
	var first headerLine
	if err := in.unmarshal(&first); err != nil {
		return nil, fmt.Errorf("%w; is it a gauntlet trace?", err)
	}
	switch {
	case first.Gauntlet != "trace":
		return nil, errors.New("trace: line 1: no gauntlet trace header")
	case first.Version != trace.FormatVersion:
		return nil, fmt.Errorf("trace: line 1: version %d; this program reads version %d", first.Version,
			trace.FormatVersion)
	case first.Conns < 0 || first.Conns > connLimit:
		return nil, fmt.Errorf("trace: line 1: %d connections; the limit is %d", first.Conns, connLimit)
	}
	h := &in.header
	h.Version, h.Bench = first.Version, quote.Line(first.Bench, quote.Name)
	h.Dilated = min(max(0, first.Dilated), int(vtime.MaxDilation))
	h.Taps = [2]bool{strings.Contains(first.Taps, "A"), strings.Contains(first.Taps, "B")}
	h.Between = first.Taps == between
	for _, name := range first.Reports {
		bit, _ := trace.ParseReport(name)
		h.Reports |= bit
	}
	if first.Declares != nil {
		for side, words := range first.Declares {
			h.Declares[side] = quote.Line(words, quote.Sentence)
		}
	}
	return in, in.conns(first.Conns)
}

// conns reads the lines of the connections, which are in order.
func (r *Reader) conns(n int) error {
	for i := range n {
		var c connLine
		if err := r.unmarshal(&c); err != nil {
			return err
		}
		if c.Conn != i {
			return fmt.Errorf("trace: line %d: connection %d; want %d", r.n, c.Conn, i)
		}
		hop, ok := trace.ParseHop(c.Hop)
		if !ok {
			return fmt.Errorf("trace: line %d: hop %.20q; want lan, wan or none", r.n, c.Hop)
		}
		c.A.Impl, c.B.Impl = quote.Line(c.A.Impl, quote.Sentence), quote.Line(c.B.Impl, quote.Sentence)
		r.header.Conns = append(r.header.Conns,
			trace.Conn{Ends: [2]trace.End{trace.End(c.A), trace.End(c.B)}, Hop: hop})
	}
	return nil
}

// Header returns the header of the trace.
func (r *Reader) Header() *trace.Header { return &r.header }

// next returns the next line without its end. A last line without a line end was cut short.
func (r *Reader) next() ([]byte, error) {
	line, err := r.r.ReadSlice('\n')
	r.n++
	switch {
	case err == nil:
		return line[:len(line)-1], nil
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("trace: line %d: longer than %d bytes", r.n, lineLimit)
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("trace: line %d: %w: no end line", r.n, trace.ErrTruncated)
	}
	return nil, fmt.Errorf("trace: line %d: %w", r.n, err)
}

// unmarshal reads a line of the header or a connection with encoding/json.
func (r *Reader) unmarshal(v any) error {
	line, err := r.next()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("trace: line %d: %w", r.n, err)
	}
	return nil
}

// Play plays the trace into s. On an error s has received everything before it, and End. The error is
// trace.ErrTruncated when the trace was cut short.
func (r *Reader) Play(s trace.Sink) error {
	for {
		line, err := r.next()
		var end bool
		if err == nil {
			end, err = r.line(line, s)
		}
		if err != nil || end {
			s.End(r.last)
			return err
		}
	}
}

// line reads one line; its first key determines its kind.
func (r *Reader) line(line []byte, s trace.Sink) (end bool, err error) {
	r.rec = trace.Record{Sent: vtime.Never, Recv: vtime.Never}
	r.event = trace.Event{}
	kind := byte(0)
	err = eachField(line, func(key []byte, v value) error {
		if kind == 0 {
			kind = lineKind(key)
		}
		ok, err := r.field(kind, key, v)
		if err == nil && !ok {
			err = fmt.Errorf("%s: bad value", key)
		}
		return err
	})
	if err == nil {
		end, err = r.emit(kind, s)
	}
	if err != nil {
		return false, fmt.Errorf("trace: line %d: %w", r.n, err)
	}
	return end, nil
}

// lineKind returns the kind of a line: 'p' packet, 'e' event, 'z' end, '?' other.
func lineKind(key []byte) byte {
	switch string(key) {
	case "pkt":
		return 'p'
	case "event":
		return 'e'
	case "end_ps":
		return 'z'
	}
	return '?'
}

// field reads one field; ok is false when its value does not fit.
func (r *Reader) field(kind byte, key []byte, v value) (ok bool, err error) {
	switch kind {
	case 'p':
		if ok, known, err := r.packetField(key, v, &r.rec.Packet, &r.rec.Sum, &r.rec.ICRC, &r.rec.Defect); known {
			return ok, err
		}
		return r.recordField(key, v)
	case 'e':
		return r.eventField(key, v), nil
	case 'z':
		at, ok := v.int()
		r.event.At = vtime.Time(at)
		return ok, nil
	}
	return false, errors.New("neither a packet, an event nor the end")
}

// emit passes the line to s. Its time must not be before that of the previous line.
func (r *Reader) emit(kind byte, s trace.Sink) (end bool, err error) {
	at := r.event.At
	if kind == 'p' {
		at = r.rec.Time()
	}
	if at < r.last || at == vtime.Never || kind == 0 {
		return false, fmt.Errorf("time %d ps is missing, or earlier than the line before", at)
	}
	if conn := max(r.rec.Conn, r.event.Conn); conn >= len(r.header.Conns) && conn > 0 {
		return false, fmt.Errorf("connection %d of %d", conn, len(r.header.Conns))
	}
	r.last = at
	switch kind {
	case 'p':
		s.Packet(&r.rec)
	case 'e':
		s.Event(&r.event)
	}
	return kind == 'z', nil
}

// packetField reads a field that the sent and the changed form of a packet have.
func (r *Reader) packetField(key []byte, v value, p *roce.Packet, sum *uint32, icrc *trace.Integrity,
	defect *string) (ok, known bool, err error) {
	switch string(key) {
	case "pkt":
		text, ok := v.string()
		if !ok {
			return false, true, nil
		}
		*p, err = roce.ParsePacket(text)
		return true, true, err
	case "sum":
		n, ok := v.uint(32)
		*sum = uint32(n)
		return ok, true, nil
	case "icrc":
		i, ok := index(icrcNames[:], v)
		*icrc = trace.Integrity(i)
		return ok, true, nil
	case "defect":
		return r.word(v, defect), true, nil
	}
	return false, false, nil
}

// recordField reads a field of a record that its packet does not have. Unknown fields may be of a later version and are
// ignored.
func (r *Reader) recordField(key []byte, v value) (ok bool, err error) {
	rec := &r.rec
	switch string(key) {
	case "sent_ps":
		return setTime(v, &rec.Sent), nil
	case "recv_ps":
		return setTime(v, &rec.Recv), nil
	case "from":
		return setSide(v, &rec.From), nil
	case "conn":
		n, ok := v.int()
		rec.Conn = int(n)
		return ok && n >= -1, nil
	case "fate":
		rec.Fate, ok = trace.ParseFate(string(v.text))
		return ok && v.str, nil
	case "cause":
		return r.word(v, &rec.Cause), nil
	case "copy":
		is, ok := v.bool()
		rec.Copy = is
		return ok, nil
	case "wire":
		n, ok := v.uint(31)
		rec.WireBytes = int(n)
		return ok, nil
	case "changed":
		return r.changed(v)
	}
	return true, nil
}

// changed reads the form in which a packet arrived.
func (r *Reader) changed(v value) (bool, error) {
	if v.str {
		return false, nil
	}
	c := &r.change
	*c = trace.Change{}
	r.rec.Changed = c
	return true, eachField(v.text, func(key []byte, v value) error {
		ok, known, err := r.packetField(key, v, &c.Packet, &c.Sum, &c.ICRC, &c.Defect)
		if err == nil && known && !ok {
			err = fmt.Errorf("changed %s: bad value", key)
		}
		return err
	})
}

// eventField reads a field of an event; only a Timer begins with the deadline Never.
func (r *Reader) eventField(key []byte, v value) bool {
	e := &r.event
	var ok bool
	var i int
	switch string(key) {
	case "event":
		e.Kind, ok = trace.ParseEventKind(string(v.text))
		ok = ok && v.str
		e.Body.Kind = e.Kind.Body()
		if e.Kind == trace.Timer {
			e.Deadline = vtime.Never
		}
	case "at_ps":
		ok = setTime(v, &e.At)
	case "side":
		ok = setSide(v, &e.Side)
	case "deadline_ps":
		ok = setTime(v, &e.Deadline)
	case "conn":
		var n int64
		n, ok = v.int()
		e.Conn = int(n)
		ok = ok && n >= -1
	case "more":
		e.Body.More, ok = v.bool()
	case "name":
		ok = r.word(v, &e.Name)
	case "value":
		e.Value, ok = v.int()
	case "op":
		i, ok = named(v, int(engine.OpFetchAdd), func(i int) string { return engine.Op(i).String() })
		e.Body.Op = engine.Op(i)
	case "status":
		i, ok = named(v, int(engine.StatusRNRRetryExceeded), func(i int) string { return engine.Status(i).String() })
		e.Body.Status = engine.Status(i)
	default:
		return numberField(e, string(key), v)
	}
	return ok
}

// numberField reads a field that is an unsigned number; it ignores unknown fields.
func numberField(e *trace.Event, key string, v value) (ok bool) {
	switch key {
	case "wr":
		e.Body.ID, ok = v.uint(64)
	case "va":
		e.VA, ok = v.uint(64)
	case "bytes":
		ok = setUint32(v, &e.Body.Len)
	case "imm":
		ok = setUint32(v, &e.Body.Imm)
	case "inv":
		ok = setUint32(v, &e.Body.InvKey)
	case "psn":
		ok = setUint32(v, (*uint32)(&e.Body.PSN)) && e.Body.PSN <= psn.Mask
	case "peer":
		n, fits := v.uint(16)
		e.Body.Peer, ok = uint16(n), fits
	case "len":
		ok = setUint32(v, &e.Len)
	case "sum":
		ok = setUint32(v, &e.Sum)
	case "rkey":
		ok = setUint32(v, &e.RKey)
	default:
		ok = true
	}
	return ok
}

// setUint32 reads a number that must fit 32 bits.
func setUint32(v value, into *uint32) bool {
	n, ok := v.uint(32)
	*into = uint32(n)
	return ok
}

// word reads and interns a string that takes few values, and cleans it, because it comes from the file.
func (r *Reader) word(v value, into *string) bool {
	if s, ok := r.words[string(v.text)]; ok && v.str {
		*into = s
		return true
	}
	text, ok := v.string()
	s := quote.Line(text, quote.Sentence)
	*into = s
	if ok && !v.escaped && len(r.words) < causeLimit {
		r.words[text] = s
	}
	return ok
}

// setTime reads a time, which must not be negative.
func setTime(v value, into *vtime.Time) bool {
	n, ok := v.int()
	*into = vtime.Time(n)
	return ok && n >= 0
}

// setSide reads A or B.
func setSide(v value, into *trace.Side) bool {
	ok := len(v.text) == 1 && v.str && (v.text[0] == 'A' || v.text[0] == 'B')
	if ok {
		*into = trace.Side(v.text[0] - 'A')
	}
	return ok
}

// index returns the index of a string in names.
func index(names []string, v value) (int, bool) {
	for i, name := range names {
		if v.str && string(v.text) == name {
			return i, true
		}
	}
	return 0, false
}

// named is index for names that a function returns.
func named(v value, most int, name func(int) string) (int, bool) {
	for i := range most + 1 {
		if v.str && string(v.text) == name(i) {
			return i, true
		}
	}
	return 0, false
}
