package datasheet

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/tcp"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// The devices of a trace.
const (
	DeviceA = iota
	DeviceB
	DeviceBox // in the path, if there is one
	Devices   // number of devices
)

// Reader determines the behaviour of the devices from one trace. It is a trace.Viewer; its memory is proportional to
// the packets in flight.
type Reader struct {
	header *trace.Header
	halves map[halfKey]*half
	order  []*half
	found  [Devices]Findings
}

var _ trace.Viewer = (*Reader)(nil)

// halfKey names a half-conversation by its connection and requester; of a TCP connection, by the side that sends data.
type halfKey struct {
	conn int
	side trace.Side
}

// half is the requests of one side of a connection and the responses to them.
type half struct {
	requester
	responder
	mtu     int
	numbers space
}

// NewReader returns a reader of a trace with header h, which must not change afterwards.
func NewReader(h *trace.Header) *Reader {
	r := &Reader{header: h, halves: map[halfKey]*half{}}
	for i := range r.found {
		r.found[i].Transports = map[string]int{}
		r.found[i].Remote = i != DeviceBox && !h.Taps[i]
	}
	return r
}

// Findings returns the findings on a device, DeviceA, DeviceB or DeviceBox; nil when it took no part.
func (r *Reader) Findings(device int) *Findings {
	if f := &r.found[device]; len(f.Transports) > 0 {
		return f
	}
	return nil
}

// device returns the findings on the device at a side of a connection.
func (r *Reader) device(conn int, side trace.Side) *Findings {
	if box, ok := r.header.On(conn).Box(); ok && box == side {
		return &r.found[DeviceBox]
	}
	return &r.found[side&1]
}

// half returns a half-conversation.
func (r *Reader) half(conn int, side trace.Side) *half {
	key := halfKey{conn, side & 1}
	h := r.halves[key]
	if h == nil {
		h = &half{mtu: r.header.Conns[conn].Ends[key.side].QP.MTU}
		h.requester.found, h.responder.found = r.device(conn, side), r.device(conn, side.Other())
		r.halves[key] = h
		r.order = append(r.order, h)
	}
	return h
}

// Sight implements trace.Viewer. A departure is observed at the sender's port, or at the receiver's when the sender's
// was not tapped, and likewise an arrival: with one tap a packet leaves and arrives at the same time.
func (r *Reader) Sight(s *trace.Sight) {
	rec, p := s.Rec, s.Pkt
	if rec.Conn < 0 || rec.Conn >= len(r.header.Conns) || rec.Fate == trace.Injected && s.Out || !intact(s) ||
		p.DestQP == roce.CMQueuePair {
		return
	}
	sent := s.Out || !r.header.Taps[rec.From&1]
	arrived := !s.Out || !r.header.Taps[rec.From&1^1]
	if sent {
		r.device(rec.Conn, rec.From).Transports[transport(p)]++
	}
	switch o := p.Opcode; {
	case o == roce.TCP:
		r.segment(s, sent, arrived)
	case o == roce.LoWAR && arrived:
		r.device(rec.Conn, rec.From.Other()).Repairs++
	case o.NumberedApart(), o.IsReadAck(): // their numbers are in another sequence space
	case o.IsRequest():
		r.half(rec.Conn, rec.From).request(s, sent, arrived)
	case o.IsResponse():
		r.half(rec.Conn, rec.From.Other()).response(s, sent, arrived)
	}
}

// intact reports whether a packet is readable as seen here.
func intact(s *trace.Sight) bool {
	defect := s.Rec.Defect
	if c := s.Rec.Changed; c != nil && !s.Out {
		defect = c.Defect
	}
	return s.ICRC != trace.Bad && defect == ""
}

// transport names the transport of a packet.
func transport(p *roce.Packet) string {
	switch o := p.Opcode; {
	case o == roce.TCP:
		return "TCP"
	case o == roce.UDP:
		return "UDP datagrams"
	case o == roce.LoWAR:
		return repairPackets
	case o.Class() == roce.ClassRC, o == roce.RACK:
		return "reliable connection"
	case o.Class() == roce.ClassX:
		return "extension class 0xC0"
	case o.Class() == roce.ClassF:
		return "extension class 0xE0"
	}
	return "other RoCEv2"
}

const repairPackets = "repair packets"

// psnDistance is the distance of two PSNs.
func psnDistance(n, m uint32) int { return psn.New(n).Sub(psn.New(m)) }

// request processes a request that is sent, that arrives, or both.
func (h *half) request(s *trace.Sight, sent, arrived bool) {
	p := s.Pkt
	if p.Opcode.HasPayload() && !p.Opcode.EndsMessage() && p.Len > 0 {
		h.mtu = p.Len // a packet that must be full
	}
	from := h.numbers.offset(uint32(p.PSN), psnDistance)
	x := slot{from: from, to: from + h.span(p), first: s.At, latest: s.At,
		ackReq: p.AckReq, ends: p.Opcode.EndsMessage(), read: p.Opcode == roce.ReadRequest}
	if sent {
		h.requester.send(x)
	}
	if arrived {
		h.responder.arrive(x)
	}
}

// span returns how many PSNs a request takes: one, or for a READ one for each response.
func (h *half) span(p *roce.Packet) int64 {
	if p.Opcode != roce.ReadRequest || h.mtu == 0 {
		return 1
	}
	return int64(max(1, (int(min(p.RETH.DMALen, 1<<31))+h.mtu-1)/h.mtu))
}

// response processes a response that is sent, that arrives, or both.
func (h *half) response(s *trace.Sight, sent, arrived bool) {
	if !h.numbers.begun {
		return // the request was not seen
	}
	a := answer{at: s.At, named: h.numbers.offset(uint32(s.Pkt.PSN), psnDistance)}
	a.classify(s.Pkt)
	if sent {
		h.responder.answer(&a)
	}
	if arrived {
		h.requester.hear(&a)
	}
}

// segment processes a TCP segment: its data are a request of its sender, its acknowledgement a response to the other
// side.
func (r *Reader) segment(s *trace.Sight, sent, arrived bool) {
	hd, data, err := tcp.Decode(s.Pkt.Payload)
	if err != nil {
		return
	}
	distance := func(n, m uint32) int { return tcp.Seq(n).Sub(tcp.Seq(m)) }
	from := s.Rec.From
	if n := int64(hd.Span(len(data))); n > 0 {
		h := r.half(s.Rec.Conn, from)
		o := h.numbers.offset(uint32(hd.Seq), distance)
		x := slot{from: o, to: o + n, first: s.At, latest: s.At}
		if sent {
			h.requester.send(x)
		}
		if arrived {
			h.responder.arrive(x)
		}
	}
	if h := r.half(s.Rec.Conn, from.Other()); hd.Flags.Has(tcp.ACK) && h.numbers.begun {
		a := answer{at: s.At, kind: positive, upTo: h.numbers.offset(uint32(hd.Ack), distance)}
		a.named = a.upTo - 1
		if len(data) == 0 && h.requester.repeats(&a) {
			a.kind = duplicate
		}
		if sent {
			h.responder.answer(&a)
		}
		if arrived {
			h.requester.hear(&a)
		}
	}
}

// Event implements trace.Viewer. Reports of endpoints are ignored: a foreign device makes none.
func (r *Reader) Event(*trace.Event) {}

// End implements trace.Viewer.
func (r *Reader) End(at vtime.Time) {
	for _, h := range r.order {
		h.requester.end(at)
		h.responder.end()
	}
}
