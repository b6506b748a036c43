package shim

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// uncoded processes a READ request or an atomic, which belongs to no block and ends the block before it.
func (d *Decoder) uncoded(s *trace.Sight) {
	p := s.Pkt.PSN
	if p.Sub(d.Next) > 0 && d.Tracking {
		if d.fail(FailedLater, s.At); d.Tracking {
			d.skip(p)
		}
	}
	if p == d.Next {
		d.Tracking = true
		d.Next = p.Add(max(1, d.above.Span(s.Pkt)))
		d.open(d.Next)
	}
	d.pass(s)
}

// Ask records a READ request that leaves the requester: this decoder expects its responses.
func (d *Decoder) Ask(p *roce.Packet) {
	if p.Opcode == roce.ReadRequest && !d.silent && d.asked.ask(p.PSN, max(1, d.above.Span(p))) {
		d.known, d.Tracking, d.Next = true, true, p.PSN
		d.open(p.PSN)
	}
}

// answered processes a response that is not coded. A response to a later request shows that all READ responses before
// it, and their repair packets, have been sent.
func (d *Decoder) answered(s *trace.Sight) {
	if o := s.Pkt.Opcode; (o == roce.Acknowledge || o == roce.AtomicAck) && d.Held > 0 && s.Pkt.PSN.Sub(d.Next) >= 0 {
		d.fail(FailedLater, s.At)
	}
	d.pass(s)
}

// readLimit bounds the READs whose responses are expected; it is far above any negotiated depth.
const readLimit = 1 << 12

// span is the PSNs [first, end) of the READ responses to a request.
type span struct{ first, end psn.PSN }

// ranges are the PSNs of the READ responses that a requester expects, from the READ requests that left its port; oldest
// first.
type ranges []span

// ask adds the range of a READ request, unless the newest range covers it, and reports whether it is now the only
// range.
func (r *ranges) ask(first psn.PSN, n int) (alone bool) {
	end := first.Add(n)
	if k := len(*r); k > 0 && end.LessEq((*r)[k-1].end) || len(*r) == readLimit {
		return false
	}
	*r = append(*r, span{first: first, end: end})
	return len(*r) == 1
}

// after drops ranges that end at or before p, and returns the first expected PSN from p on; p when none is expected.
func (r *ranges) after(p psn.PSN) psn.PSN {
	for len(*r) > 0 && (*r)[0].end.LessEq(p) {
		*r = append((*r)[:0], (*r)[1:]...)
	}
	if len(*r) == 0 {
		return p
	}
	return psn.Max(p, (*r)[0].first)
}
