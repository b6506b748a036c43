// Package stream reads a TCP connection that carries iWARP from the segments that pass one point: it puts the bytes of
// each direction in order and finds the start-up frames, FPDUs and DDP segments in them. Metrics and rules use it to
// read the connections of any implementation.
//
// The memory in use is the data held back behind a hole, up to a limit per direction; a hole that is never filled, for
// example because the capture has lost a frame, ends the reading of that direction.
package stream

import (
	"errors"

	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/mpa"
	"github.com/rdma-gauntlet/gauntlet/harness/tcp"
)

// Unit is a start-up frame or an FPDU of the stream. Pointers and slices are valid during the call only.
type Unit struct {
	Setup   *mpa.Setup    // a start-up frame, else nil
	FPDU    *mpa.FPDU     // an FPDU, else nil
	Segment iwarp.Segment // the segment in the FPDU, as far as it decodes
	Err     error         // reason why the stream cannot be read further, or why the segment does not decode
	// From and To are the unit's range in bytes of its direction; it includes the markers before an FPDU.
	From int64
	To   int64
}

// Arrival describes one segment that was added.
type Arrival struct {
	Header tcp.Header
	From   int64 // range of its data in bytes of its direction, [From, To)
	To     int64
	Again  bool // all of its data has been seen before
	Ahead  bool // its data begins after a hole
}

// ErrLimit is the error of a direction that would hold back more data than the limit.
var ErrLimit = errors.New("stream: too much data behind a hole")

// limit bounds the bytes that one direction holds back.
const limit = 64 << 20

// Conn is a connection as seen at one point. The directions are numbered 0 and 1; the zero Conn has seen nothing.
type Conn struct {
	// On is called for every unit once it is complete, in the order of its direction.
	On func(dir int, u *Unit)

	way [2]way
}

// way is the state of one direction.
type way struct {
	first   tcp.Seq // sequence number of the first byte
	started bool
	fin     bool
	next    int64 // bytes read so far, all in order; 0 <= next <= high
	high    int64 // end of the data seen so far
	held    []piece
	bytes   int // total length of held
	setup   mpa.Setup
	greeted int64  // length of the start-up frame; 0 until it is complete
	partial []byte // the start-up frame so far
	frames  mpa.Deframer
	ready   bool // frames is initialised
	begin   int64
	err     error
}

// piece is data behind a hole.
type piece struct {
	at   int64
	data []byte
}

// Next returns the number of bytes of a direction that have been read.
func (c *Conn) Next(dir int) int64 { return c.way[dir&1].next }

// High returns the end, in bytes, of the data of a direction that has been seen.
func (c *Conn) High(dir int) int64 { return c.way[dir&1].high }

// Err returns the reason why a direction cannot be read further; nil while it can.
func (c *Conn) Err(dir int) error { return c.way[dir&1].err }

// Closed reports that the FIN of a direction was seen.
func (c *Conn) Closed(dir int) bool { return c.way[dir&1].fin }

// Markers reports whether the FPDUs of a direction have markers, because the other end asked for them.
func (c *Conn) Markers(dir int) bool { return c.way[dir&1^1].setup.Markers }

// CRC reports whether FPDUs have CRCs, because either end asked for them.
func (c *Conn) CRC() bool { return c.way[0].setup.CRC || c.way[1].setup.CRC }

// Offset returns the position, in bytes of direction dir, of a number that the other direction acknowledges, at most
// High; -1 before the SYN of dir.
func (c *Conn) Offset(dir int, ack tcp.Seq) int64 {
	w := &c.way[dir&1]
	if !w.started {
		return -1
	}
	return min(w.offset(ack), w.high)
}

// offset returns the position of the sequence number n, which must be within 2^31 of next.
func (w *way) offset(n tcp.Seq) int64 {
	return w.next + int64(n.Sub(w.first.Add(int(uint32(w.next)))))
}

// Add takes a segment of direction dir, header included. ok is false before the SYN of that direction, and for bytes
// that are not a TCP segment.
func (c *Conn) Add(dir int, segment []byte) (a Arrival, ok bool) {
	w := &c.way[dir&1]
	h, data, err := tcp.Decode(segment)
	if err != nil {
		return a, false
	}
	if h.Flags.Has(tcp.SYN) && !w.started {
		w.first, w.started = h.Seq.Add(1), true
	}
	if !w.started {
		return a, false
	}
	if h.Flags.Has(tcp.SYN) {
		h.Seq = h.Seq.Add(1)
	}
	a = Arrival{Header: h, From: w.offset(h.Seq)}
	a.To = a.From + int64(len(data))
	w.fin = w.fin || h.Flags.Has(tcp.FIN)
	if len(data) == 0 {
		return a, true
	}
	a.Again, a.Ahead = a.To <= w.next || w.holds(a.From, a.To), a.From > w.next
	w.high = max(w.high, a.To)
	c.take(dir&1, w, a.From, data)
	return a, true
}

// holds reports whether one held piece covers a range.
func (w *way) holds(from, to int64) bool {
	for i := range w.held {
		if p := &w.held[i]; p.at <= from && to <= p.at+int64(len(p.data)) {
			return true
		}
	}
	return false
}

// take reads data that is in order, and then the held data that follows it; other data is held.
func (c *Conn) take(dir int, w *way, at int64, data []byte) {
	if at > w.next {
		w.keep(at, data)
		return
	}
	if skip := w.next - at; skip < int64(len(data)) {
		c.read(dir, w, data[skip:])
	}
	for len(w.held) > 0 && w.held[0].at <= w.next {
		p := w.held[0]
		w.held = append(w.held[:0], w.held[1:]...)
		w.bytes -= len(p.data)
		if skip := w.next - p.at; skip < int64(len(p.data)) {
			c.read(dir, w, p.data[skip:])
		}
	}
}

// keep holds data back, sorted by position.
func (w *way) keep(at int64, data []byte) {
	if w.err != nil || w.holds(at, at+int64(len(data))) {
		return
	}
	if w.bytes += len(data); w.bytes > limit {
		w.err, w.held = ErrLimit, nil
		return
	}
	i := len(w.held)
	for i > 0 && w.held[i-1].at > at {
		i--
	}
	w.held = append(w.held, piece{})
	copy(w.held[i+1:], w.held[i:])
	w.held[i] = piece{at, append([]byte(nil), data...)}
}

// read processes bytes that are in order.
func (c *Conn) read(dir int, w *way, data []byte) {
	for len(data) > 0 && w.err == nil && w.greeted == 0 {
		data = c.greeting(dir, w, data)
	}
	for len(data) > 0 && w.err == nil {
		if !w.ready {
			w.frames, w.ready, w.begin = mpa.Deframer{Markers: c.Markers(dir)}, true, w.next
		}
		f, rest, err := w.frames.Next(data)
		w.next += int64(len(data) - len(rest))
		data = rest
		switch {
		case err != nil:
			w.err = err
			c.tell(dir, &Unit{Err: err, From: w.begin, To: w.next})
		case f != nil:
			u := Unit{FPDU: f, From: w.begin, To: w.next}
			u.Err = u.Segment.Decode(f.ULPDU)
			w.begin = w.next
			c.tell(dir, &u)
		}
	}
	w.next += int64(len(data)) // the bytes of a stream that cannot be read still count
}

// greeting processes bytes of the start-up frame and returns the bytes after it.
func (c *Conn) greeting(dir int, w *way, data []byte) []byte {
	known := len(w.partial)
	w.partial = append(w.partial, data...)
	s, n, err := mpa.DecodeSetup(w.partial)
	switch {
	case err != nil:
		w.err = err
		c.tell(dir, &Unit{Err: err, To: w.next + int64(len(data))})
		return data
	case n == 0:
		w.next += int64(len(data))
		return nil
	}
	w.setup, w.greeted = s, int64(n)
	w.setup.Private = nil
	w.next = int64(n)
	c.tell(dir, &Unit{Setup: &s, To: int64(n)})
	w.partial = nil
	return data[n-known:]
}

func (c *Conn) tell(dir int, u *Unit) {
	if c.On != nil {
		c.On(dir, u)
	}
}
