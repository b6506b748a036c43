package rule

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// uncoded takes a READ request or an atomic. No block holds it, and it ends the one before.
func (d *Decoder) uncoded(s *trace.Sight) {
	p := s.Pkt.PSN
	if p.Sub(d.Next) > 0 && d.Tracking {
		if d.fail(FailedLater, s.At); d.Tracking {
			d.skip(p)
		}
	}
	if p == d.Next {
		d.Tracking = true
		d.Next = p.Add(max(1, d.conv.Span(s.Pkt)))
		d.open(d.Next)
	}
	d.pass(s)
}

// ask notes a READ request that leaves the requester, whose responses this decoder is to expect.
func (d *Decoder) ask(p *roce.Packet) {
	if p.Opcode == roce.ReadRequest && !d.silent && d.asked.ask(p.PSN, max(1, d.conv.Span(p))) {
		d.known, d.Tracking, d.Next = true, true, p.PSN
		d.open(p.PSN)
	}
}

// answered takes a response that is not coded. One of a later request says that all READ responses before it have been
// sent, and their repair packets with them.
func (d *Decoder) answered(s *trace.Sight) {
	if o := s.Pkt.Opcode; (o == roce.Acknowledge || o == roce.AtomicAck) && d.Held > 0 && s.Pkt.PSN.Sub(d.Next) >= 0 {
		d.fail(FailedLater, s.At)
	}
	d.pass(s)
}

// ranges are the PSNs of the READ responses that a requester waits for, as the requests told that left its port.
type ranges []readSpan

// ask notes a READ request, unless it asks once more for what is asked for already, and reports whether it is the only
// one.
func (r *ranges) ask(first psn.PSN, n int) (alone bool) {
	end := first.Add(n)
	if k := len(*r); k > 0 && end.LessEq((*r)[k-1].end) || len(*r) == readLimit {
		return false
	}
	*r = append(*r, readSpan{first: first, end: end})
	return len(*r) == 1
}

// after drops what ends before p, and returns the first PSN from p on that is expected.
func (r *ranges) after(p psn.PSN) psn.PSN {
	for len(*r) > 0 && (*r)[0].end.LessEq(p) {
		*r = append((*r)[:0], (*r)[1:]...)
	}
	if len(*r) == 0 {
		return p
	}
	return psn.Max(p, (*r)[0].first)
}
