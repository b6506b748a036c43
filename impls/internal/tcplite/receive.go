package tcplite

import (
	"github.com/rdma-gauntlet/gauntlet/harness/tcp"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// maxDups bounds the duplicate ACKs that wait for the link. More would have no effect: recovery begins at the third.
const maxDups = 1 << 10

// HandleSegment processes a segment whose checksum is valid. Afterwards call Read until it returns nil, before the next
// call. Segments of other connections and malformed ones are ignored.
func (c *Conn) HandleSegment(now vtime.Time, segment []byte) {
	c.direct = nil
	h, data, err := tcp.Decode(segment)
	if err != nil || h.SrcPort != c.cfg.RemotePort || h.DstPort != c.cfg.LocalPort {
		return
	}
	switch c.state {
	case Listen, SynSent:
		c.handshake(now, &h)
		return
	case Closed:
		if c.ended == Orderly && h.Flags.Has(tcp.FIN) { // our last ACK was lost
			c.ackDue = true
		}
		return
	}
	if !c.acceptable(&h) || !h.Flags.Has(tcp.ACK) || !c.acknowledge(now, &h, h.Span(len(data)) == 0) {
		return
	}
	if c.state == SynReceived && c.cfg.ISS.Less(h.Ack) {
		c.state = Established
	}
	c.arrive(&h, data)
}

// handshake processes a segment while the peer's initial sequence number is unknown (RFC 9293, 3.10.7.2 and 3.10.7.3).
func (c *Conn) handshake(now vtime.Time, h *tcp.Header) {
	answers := h.Flags.Has(tcp.ACK) && h.Ack == c.cfg.ISS.Add(1) && c.sent == h.Ack
	switch {
	case h.Flags.Has(tcp.RST):
		if c.state == SynSent && answers {
			c.end(Reset)
		}
		return
	case !h.Flags.Has(tcp.SYN), c.state == SynSent && !answers, c.state == Listen &&
		(h.Flags.Has(tcp.ACK) || c.cfg.Active):
		return
	}
	c.rcvNxt = h.Seq.Add(1)
	c.readNxt, c.store.base = c.rcvNxt, c.rcvNxt
	if h.MSS != 0 {
		c.mss = max(MinMSS, min(c.mss, int(h.MSS)))
		c.cong.limit(c.mss)
	}
	c.peer.window = int(h.Window)
	if c.state == Listen {
		c.state = SynReceived
		c.push(0, tcp.SYN)
	} else {
		c.state, c.ackDue = Established, true
		c.advance(now, h.Ack)
	}
	if h.HasScale {
		c.peer.scale = h.Scale
	}
}

// acceptable reports whether a segment is in the receive window (RFC 9293, 3.10.7.4). It handles RST and SYN itself and
// returns false for them.
func (c *Conn) acceptable(h *tcp.Header) bool {
	switch limit := c.rcvNxt.Add(c.cfg.Window); {
	case h.Flags.Has(tcp.RST):
		if h.Seq.In(c.rcvNxt, limit) {
			c.end(Reset)
		}
		return false
	case h.Flags.Has(tcp.SYN):
		if c.state == SynReceived { // the SYN,ACK is late or lost
			c.cursor = 0
		} else {
			c.ackDue = true
		}
		return false
	case !h.Seq.Less(limit):
		c.ackDue = true
		return false
	}
	return true
}

// arrive processes the data and the FIN of a segment.
func (c *Conn) arrive(h *tcp.Header, data []byte) {
	if h.Span(len(data)) == 0 {
		return
	}
	if h.Flags.Has(tcp.FIN) {
		c.finSeen, c.finSeq = true, h.Seq.Add(len(data))
	}
	seq := h.Seq
	if skip := c.rcvNxt.Sub(seq); skip > 0 { // received before, in part or in full
		skip = min(skip, len(data))
		seq, data = seq.Add(skip), data[skip:]
	}
	data = data[:min(len(data), max(0, c.rcvNxt.Add(c.cfg.Window).Sub(seq)))]
	switch {
	case len(data) == 0 && !(c.finSeen && c.finSeq == c.rcvNxt && !c.gotFIN):
		c.dups = min(c.dups+1, maxDups) // a duplicate, or a FIN ahead of missing data
	case seq == c.rcvNxt:
		c.inOrder(data)
		c.ackDue = true
	default:
		if c.early.add(seq, seq.Add(len(data))) {
			c.store.put(seq, data)
		}
		c.dups = min(c.dups+1, maxDups)
	}
}

// inOrder accepts the data at rcvNxt and the stored data that is contiguous with it.
func (c *Conn) inOrder(data []byte) {
	if c.early.empty() {
		c.direct = data
		c.rcvNxt = c.rcvNxt.Add(len(data))
		c.store.drop(c.rcvNxt)
	} else {
		c.store.put(c.rcvNxt, data)
		c.rcvNxt = c.early.join(c.rcvNxt.Add(len(data)))
	}
	if c.finSeen && c.finSeq == c.rcvNxt && !c.gotFIN {
		c.gotFIN = true
		c.rcvNxt = c.rcvNxt.Add(1)
		if c.state == FinWait && c.out.Len() == 0 {
			c.end(Orderly)
		}
	}
}

// Read returns the next bytes of the stream, nil if there are none. They are valid until the next HandleSegment.
func (c *Conn) Read() []byte {
	if len(c.direct) > 0 {
		b := c.direct
		c.direct = nil
		c.readNxt = c.readNxt.Add(len(b))
		return b
	}
	end := c.rcvNxt
	if c.gotFIN {
		end = c.finSeq
	}
	n := end.Sub(c.readNxt)
	if n <= 0 {
		return nil
	}
	b := c.store.piece(c.readNxt, n)
	c.readNxt = c.readNxt.Add(len(b))
	if c.readNxt == end {
		c.store.drop(end)
	}
	return b
}
