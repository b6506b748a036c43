package metrics

import (
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// response processes a response that is sent, that arrives, or both at once.
func (h *half) response(s *trace.Sight, sent, arrived bool) {
	op := s.Pkt.Opcode
	if sent && op.Layout()&roce.LayoutAETH != 0 && !op.IsReadResponse() && op != roce.AtomicAck {
		h.count(s.Pkt.AETH.Syndrome)
	}
	if !h.requests.started || op.IsReadAck() {
		// there is nothing yet to count from; an acknowledgement of READ data is counted, and acknowledges no request
		return
	}
	switch {
	case op.IsReadResponse() && op.Class() != roce.ClassRC:
		h.dataApart(s, sent, arrived)
	case op.IsReadResponse() || op == roce.AtomicAck:
		h.data(s, sent, arrived)
	default:
		h.acknowledgement(s, sent, arrived)
	}
}

// count counts an acknowledgement by its kind.
func (h *half) count(a roce.Syndrome) {
	switch {
	case a.IsACK():
		h.c.sum.Acknowledges++
	case a.IsRNR():
		h.c.sum.RNRs++
	case a == roce.SyndromePSNSeqErr:
		h.c.sum.NAKs++
	}
}

// acknowledgement processes an ACK, a NAK or a selective acknowledgement. An ACK includes the PSN it names; the others
// name the expected PSN, and so acknowledge the PSNs before it (IBTA 9.7.5.1, 9.7.5.2).
func (h *half) acknowledgement(s *trace.Sight, sent, arrived bool) {
	p := s.Pkt
	positive := p.Opcode == roce.Acknowledge && p.AETH.Syndrome.IsACK()
	named := h.requests.offset(p.PSN)
	upTo := named
	if positive {
		upTo++
	}
	if sent {
		h.credit(s.At, upTo)
	}
	if !arrived {
		return
	}
	h.acknowledge(s.At, upTo)
	if p.AETH.Syndrome.IsACK() {
		h.plot.add(s.At, upTo-1, AckMark)
	} else {
		h.plot.add(s.At, named, NakMark)
	}
}

// credit counts the requests before upTo as delivered, because the responder acknowledges them. An acknowledgement of
// PSNs that were never sent is a fault that rules report; here it counts up to the last PSN sent.
func (h *half) credit(at vtime.Time, upTo int64) {
	q := &h.requests
	upTo = min(upTo, q.next)
	n := int64(0)
	for o := max(h.credited, q.lo); o < upTo; o++ {
		n += int64(q.find(o).bytes)
	}
	if h.credited < upTo {
		h.credited = upTo
		h.deliver(at, h.side, n)
	}
}

// acknowledge completes everything before upTo for the requester, but nothing after a READ with missing data: only data
// complete a READ (IBTA 9.7.5.1).
func (h *half) acknowledge(at vtime.Time, upTo int64) {
	upTo = min(upTo, h.requests.next)
	if r := h.reads.front(); r != nil {
		upTo = min(upTo, r.next)
	}
	if upTo <= h.requests.lo {
		return
	}
	h.requests.advance(upTo)
	h.recovered()
	for m := h.messages.front(); m != nil && m.last != open && m.last < upTo; m = h.messages.front() {
		h.c.complete(h.side, at.Sub(m.first))
		h.messages.pop()
	}
}

// data processes a response to an RC READ or atomic. It acknowledges every request before its READ, and counts when it
// has the next bytes of the oldest READ; a requester has no room for out-of-order data.
func (h *half) data(s *trace.Sight, sent, arrived bool) {
	o := h.requests.offset(s.Pkt.PSN)
	if sent {
		h.credit(s.At, o+1)
		h.responseSent(s, o)
	}
	if !arrived {
		return
	}
	h.arrive(s, &h.responses, o)
	// The READ moves on before the acknowledgement does, because acknowledge stops at its next response.
	r := h.reads.front()
	if r != nil && r.next == o {
		r.next++
		h.deliver(s.At, h.side.Other(), int64(s.Pkt.Len))
		h.responses.advance(r.next)
		if r.end == open && s.Pkt.Opcode.EndsMessage() {
			h.closeRead(r)
		}
		if r.next == r.end {
			h.reads.pop()
		}
	}
	h.acknowledge(s.At, o+1)
}

// closeRead ends a READ whose length was not known by its last response. Its PSNs are claimed only now; a request that
// followed the READ has done so already.
func (h *half) closeRead(r *read) {
	r.end = r.next
	if r.end > h.requests.next {
		h.requests.extend(r.end-1, &h.c.budget)
	}
	if m := h.messages.front(); m != nil && m.last == open {
		m.last = r.end - 1
	}
}

// responseSent counts a READ response as a data packet of the responder.
func (h *half) responseSent(s *trace.Sight, o int64) {
	sp := &h.responses
	if !sp.started {
		return // it answers an operation that is not tracked, such as FLUSH
	}
	if o < sp.next {
		h.resend(s, sp, o, false)
		return
	}
	h.transmit(s, sp.extend(o, &h.c.budget), o)
}

// dataApart processes a READ response of the extension classes, which has a sequence space of its own: the requester
// keeps out-of-order responses, and they count when nothing before them is missing.
func (h *half) dataApart(s *trace.Sight, sent, arrived bool) {
	h.fetches()
	sp := &h.responses
	if sent && !sp.started {
		sp.begin(s.Pkt.PSN, 0)
	}
	o := sp.offset(s.Pkt.PSN)
	if sent {
		h.responseSent(s, o)
	}
	if !arrived {
		return
	}
	t := h.arrive(s, sp, o)
	if t == nil {
		return
	}
	t.here, t.ends = true, s.Pkt.Opcode.EndsMessage()
	n := int64(0)
	for t = sp.find(sp.lo); t != nil && t.here; t = sp.find(sp.lo) {
		n += int64(t.bytes)
		if m := h.apart.front(); t.ends && m != nil {
			h.c.complete(h.side, s.At.Sub(m.first))
			h.apart.pop()
		}
		sp.advance(sp.lo + 1)
	}
	h.deliver(s.At, h.side.Other(), n)
}
