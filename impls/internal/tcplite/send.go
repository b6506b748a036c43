package tcplite

import (
	"github.com/rdma-gauntlet/gauntlet/harness/tcp"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Room reports whether Write may be called: the connection is established, all written data is sent, and the congestion
// window and the peer's window have room for a full segment.
func (c *Conn) Room() bool {
	return c.state == Established && c.cursor == c.out.Len() && c.fits(c.mss)
}

// fits reports whether n more bytes may be in flight. One segment is always allowed, or a small window would stop the
// flow for ever.
func (c *Conn) fits(n int) bool {
	flight := c.nxt().Sub(c.una)
	return flight == 0 || flight+n <= min(c.cong.cwnd, c.peer.window)
}

// nxt is the sequence number sent next (snd_nxt); after a timeout it is before sent.
func (c *Conn) nxt() tcp.Seq {
	if c.cursor < c.out.Len() {
		return c.out.At(c.cursor).seq
	}
	return c.sent
}

// Write queues the data, at most MSS bytes, as one segment. It copies the data. Call it only if Room reports true.
func (c *Conn) Write(data []byte) {
	if len(data) == 0 || !c.Room() {
		return
	}
	n := min(len(data), c.mss)
	c.data.put(c.sent, data[:n])
	c.push(n, 0)
}

// push appends a record.
func (c *Conn) push(n int, flags tcp.Flags) {
	seq := c.sent
	if k := c.out.Len(); k > 0 {
		seq = c.out.At(k - 1).end()
	}
	c.out.Push(record{seq: seq, n: n, flags: flags})
}

// Poll writes the next segment to b, which must have room for a header and MSS bytes, and returns its length; ok is
// false if there is nothing to send now. The checksum is zero: it covers IP addresses, which the layer below knows.
func (c *Conn) Poll(now vtime.Time, b []byte) (n int, ok bool) {
	switch {
	case c.rst:
		c.rst = false
		return c.emit(b, &record{seq: c.sent}, tcp.RST|tcp.ACK), true
	case c.dups > 0:
		c.dups--
		return c.emit(b, &record{seq: c.sent}, tcp.ACK), true
	case c.state == Closed && c.ended != Orderly:
		return 0, false
	case c.resend && c.out.Len() > 0:
		c.resend, c.cursor = false, max(c.cursor, 1)
		return c.transmit(now, b, 0), true
	case c.cursor < c.out.Len() && (c.out.At(c.cursor).n == 0 || c.fits(c.out.At(c.cursor).n)):
		c.cursor++
		return c.transmit(now, b, c.cursor-1), true
	case c.ackDue:
		return c.emit(b, &record{seq: c.sent}, tcp.ACK), true
	}
	return 0, false
}

// transmit writes record i, as a first transmission or a retransmission.
func (c *Conn) transmit(now vtime.Time, b []byte, i int) int {
	r := c.out.At(i)
	flags := r.flags
	if c.state != SynSent {
		flags |= tcp.ACK
	}
	if r.n > 0 {
		flags |= tcp.PSH
	}
	again := r.seq.Less(c.sent)
	c.sent = tcp.Later(c.sent, r.end())
	c.rtt.sending(now, r.end(), again)
	if again {
		c.count.Resent++
	}
	if c.timer == vtime.Never {
		c.timer = now.Add(c.rtt.rto)
	}
	return c.emit(b, r, flags)
}

// emit writes a segment. A segment with the ACK flag clears ackDue.
func (c *Conn) emit(b []byte, r *record, flags tcp.Flags) int {
	h := tcp.Header{SrcPort: c.cfg.LocalPort, DstPort: c.cfg.RemotePort, Seq: r.seq, Flags: flags}
	scale := c.scale()
	if flags.Has(tcp.SYN) {
		h.MSS, h.Scale, h.HasScale = uint16(c.cfg.MSS), scale, true
		h.Window = uint16(min(c.cfg.Window, 0xFFFF))
	} else {
		h.Window = uint16(c.cfg.Window >> scale)
	}
	if flags.Has(tcp.ACK) {
		h.Ack, c.ackDue = c.rcvNxt, false
	}
	h.Put(b)
	n := h.Len()
	c.data.get(r.seq, b[n:n+r.n])
	c.count.Sent++
	return n + r.n
}

// scale returns the window scale of this side: the smallest with which its window fits 16 bits.
func (c *Conn) scale() (s uint8) {
	for c.cfg.Window>>s > 0xFFFF && s < tcp.MaxScale {
		s++
	}
	return s
}

// acknowledge processes the ACK field of a segment and reports whether to process the rest. An ACK is a duplicate as in
// RFC 5681, 2: no data, no SYN or FIN, the same window, and data outstanding.
func (c *Conn) acknowledge(now vtime.Time, h *tcp.Header, empty bool) bool {
	switch {
	case c.sent.Less(h.Ack): // acknowledges a number that was never sent
		c.ackDue = true
		return false
	case h.Ack.Less(c.una): // overtaken by a later ACK
		return true
	}
	window := int(h.Window) << c.peer.scale
	same := window == c.peer.window
	c.peer.window = window
	switch {
	case c.una.Less(h.Ack):
		c.advance(now, h.Ack)
	case empty && same && c.una.Less(c.sent):
		c.count.DupACKs++
		if c.cong.duplicate(c.una, c.sent) {
			c.count.FastRetransmits++
			c.resend = true
		}
	}
	return true
}

// advance removes acknowledged records. The congestion window grows by data only, not by SYN and FIN.
func (c *Conn) advance(now vtime.Time, ack tcp.Seq) {
	c.una, c.tries = ack, 0
	for c.out.Len() > 0 && c.out.At(0).end().AtMost(ack) {
		if c.out.At(0).flags.Has(tcp.FIN) && c.gotFIN {
			c.end(Orderly)
		}
		c.out.Drop()
		c.cursor = max(0, c.cursor-1)
	}
	if c.out.Len() > 0 {
		c.trim(ack)
	}
	newly := c.data.drop(ack)
	c.rtt.acked(now, ack)
	partial, restart := c.cong.acked(ack, newly, c.sent.Sub(ack))
	c.resend = partial && c.cursor > 0
	switch {
	case c.una == c.sent:
		c.timer = vtime.Never
	case restart:
		c.timer = now.Add(c.rtt.rto)
	}
}

// trim removes the acknowledged bytes from the first record.
func (c *Conn) trim(ack tcp.Seq) {
	if r := c.out.At(0); r.seq.Less(ack) {
		r.n -= ack.Sub(r.seq)
		r.seq = ack
	}
}
