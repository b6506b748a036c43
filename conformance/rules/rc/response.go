package rc

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var readResponses = rule.Rule{
	ID: "RC-READ-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "A READ or atomic is answered by its data, which answer nothing else: those of a READ by its PSNs in " +
		"order, with opcode by position and payload as in requests",
	Source: rule.Source{Ref: "IBTA 9.4.4, 9.4.5, 9.7.5.1.9",
		Requirement: "The PSN of the first READ response is that of the request, each further response has the " +
			"next one; all but the last are one path MTU long. An atomic is answered by an ATOMIC acknowledge."},
	Needs: rule.Frames, Sees: rule.RequestOut | rule.Accepts | rule.ResponseOut, Wakes: rule.Fetch, Dozes: true,
	Stimulus: "READs of one and of several packets", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check { return rule.Check{Sight: (&readStream{c: c, sure: true}).sight} },
}

// readStream tracks the responses to the READs and atomics that arrived. A duplicate READ is answered again from its
// start; the interrupted run may continue afterwards.
type readStream struct {
	c     *rule.Context
	reads rule.Latest[readRequest] // for data, that arrived
	runs  []readRun                // begun and not ended, newest last
	owed  []dataOwed
	// Where the responder's port is not tapped: PSN after the latest READ that was sent again and may have asked for
	// other bytes than before, so that it is not known which data are owed for the PSNs before; valid unless sure.
	moved psn.PSN
	sure  bool // no READ was sent again in such a way
}

// readsKept bounds the requests that are remembered: a link that duplicates packets brings many before one is answered.
const readsKept = 1024

// readRun is a run of responses that began with a FIRST or ONLY.
type readRun struct {
	next psn.PSN // PSN of the next response
	left int     // bytes still to come
}

// dataOwed is the range [next, end) of response PSNs that an accepted READ or atomic still owes.
type dataOwed struct{ next, end psn.PSN }

// runLimit bounds the interrupted runs that are remembered.
const runLimit = 16

func (r *readStream) sight(s *rule.Sight) {
	c, p := r.c, s.Pkt
	switch o := p.Opcode; {
	case c.AtBox && s.Point == trace.RequesterIn && c.Offers(rule.TapResponder):
	case c.AtBox, !c.Offers(rule.TapResponder):
		r.afar(s)
	case s.Point == trace.RequesterOut:
	case s.Point == trace.ResponderIn:
		r.request(s)
	case o.NumberedApart(): // the rules of IRN and FaSR judge responses numbered apart
	case o == roce.Acknowledge:
		r.acknowledged(s)
	case r.refuses(p):
	case o == roce.AtomicAck:
		r.atomic(p)
	case !o.IsReadResponse():
	case c.MTU == 0: // the expected lengths are not known
		r.deliver(p)
	case o.StartsMessage():
		r.deliver(p)
		r.start(p)
	default:
		r.deliver(p)
		r.proceed(p)
	}
}

// refuses judges the syndrome of a response with data, and reports whether it is that of a NAK.
func (r *readStream) refuses(p *roce.Packet) bool {
	o, a := p.Opcode, p.AETH.Syndrome
	if !o.IsReadResponse() && o != roce.AtomicAck || !rule.HasAETH(o) || a.IsACK() || rule.IsReserved(a) {
		return false
	}
	r.c.Failf(rule.Responder, "%v %s has syndrome %#02x; an ACK is expected, since a NAK carries no data", o,
		r.c.Rel(p.PSN), uint8(a))
	return true
}

// request adds a request that is answered by data. Its data are owed once, from its turn on. After a duplicate nothing
// is owed, because it is not known how far the responder starts over.
func (r *readStream) request(s *rule.Sight) {
	c, p := r.c, s.Pkt
	again := s.Relation == rule.Duplicate
	if !p.Opcode.AnsweredByData() || !s.Legal && !again {
		return
	}
	n := c.Span(p)
	r.reads.Add(readRequest{p.PSN, p.RETH, n, p.Opcode}, readsKept)
	switch {
	case again:
		r.owed = r.owed[:0]
	case n > 0 && len(r.owed) < readsKept && rule.OperationOf(p.Opcode) != rule.NoOperation &&
		p.Opcode.Class() == roce.ClassRC:
		r.owed = append(r.owed, dataOwed{p.PSN, p.PSN.Add(n)})
	}
}

// acknowledged judges an ACK or NAK. A NAK shows that requests from its PSN on were not accepted; an ACK must not
// overtake owed data.
func (r *readStream) acknowledged(s *rule.Sight) {
	c, p := r.c, s.Pkt
	a := p.AETH.Syndrome
	if !a.IsACK() {
		for len(r.owed) > 0 && (rule.IsFatal(a) || p.PSN.LessEq(r.owed[len(r.owed)-1].next)) {
			r.owed = r.owed[:len(r.owed)-1]
		}
		return
	}
	if len(r.owed) == 0 || p.PSN.Less(r.owed[0].next) || c.Fatal || c.AtBox {
		return
	}
	if !c.Certain(s.At - 1) {
		r.owed = r.owed[:0] // the first answer: the requests may have been received before the capture
		return
	}
	c.Failf(rule.Responder, "ACK of %s while the data of %s have not been sent; they are expected first", c.Rel(p.PSN),
		c.Rel(r.owed[0].next))
	r.owed = r.owed[:0]
}

// find returns the newest request that begins at p.
func (r *readStream) find(p psn.PSN) (readRequest, bool) {
	for x := range r.reads.Newest {
		if x.psn == p {
			return x, true
		}
	}
	return readRequest{}, false
}

// deliver removes a response from the owed data.
func (r *readStream) deliver(p *roce.Packet) {
	for i := range r.owed {
		if o := &r.owed[i]; p.PSN.In(o.next, o.end) {
			o.next = p.PSN.Next()
			if o.next == o.end {
				i++
			}
			r.owed = r.owed[:copy(r.owed, r.owed[i:])]
			return
		}
	}
}

// seen reports whether the capture holds every request that a response with PSN p can answer.
func (r *readStream) seen(p psn.PSN) bool {
	return r.c.Known || r.c.Started && p.In(r.c.Start, r.c.EPSN) && len(r.reads.List()) < readsKept
}

func (r *readStream) atomic(p *roce.Packet) {
	r.deliver(p)
	switch request, ok := r.find(p.PSN); {
	case ok && request.opcode.IsAtomic():
		r.c.Met()
	case ok || r.seen(p.PSN):
		r.c.Failf(rule.Responder, "%v %s answers no atomic; no result expected", p.Opcode, r.c.Rel(p.PSN))
	}
}

// start begins a run with a FIRST or ONLY.
func (r *readStream) start(p *roce.Packet) {
	switch read, ok := r.find(p.PSN); {
	case ok && read.opcode.IsRead():
		if len(r.runs) == runLimit {
			r.runs = r.runs[:copy(r.runs, r.runs[1:])]
		}
		r.runs = append(r.runs, readRun{p.PSN, int(read.reth.DMALen)})
		r.judge(p, len(r.runs)-1)
	case ok && !read.opcode.IsAtomic(): // annex A19
	case ok || r.seen(p.PSN):
		r.c.Failf(rule.Responder, "%v %s answers no READ; no response expected", p.Opcode, r.c.Rel(p.PSN))
	}
}

// proceed finds the run of a MIDDLE or LAST: the newest that expects its PSN, else the newest.
func (r *readStream) proceed(p *roce.Packet) {
	for i := len(r.runs) - 1; i >= 0; i-- {
		if r.runs[i].next == p.PSN {
			r.judge(p, i)
			return
		}
	}
	switch n := len(r.runs); {
	case n > 0:
		r.c.Failf(rule.Responder, "READ response %s, %s expected", r.c.Rel(p.PSN), r.c.Rel(r.runs[n-1].next))
		r.runs[n-1].next = p.PSN
		r.advance(p, n-1)
	case r.seen(p.PSN):
		r.c.Failf(rule.Responder, "%v %s follows no FIRST; a FIRST or ONLY expected", p.Opcode, r.c.Rel(p.PSN))
	}
}

func (r *readStream) judge(p *roce.Packet, i int) {
	c, left := r.c, r.runs[i].left
	switch {
	case p.Opcode.EndsMessage() != (left <= c.MTU):
		c.Failf(rule.Responder, "%v %s with %d bytes left; FIRST and MIDDLE expected up to the last MTU", p.Opcode,
			c.Rel(p.PSN), left)
	case p.Len != min(left, c.MTU):
		c.Failf(rule.Responder, "%v %s has %d bytes, want %d", p.Opcode, c.Rel(p.PSN), p.Len, min(left, c.MTU))
	default:
		c.Met()
	}
	r.advance(p, i)
}

func (r *readStream) advance(p *roce.Packet, i int) {
	run := &r.runs[i]
	run.next, run.left = p.PSN.Next(), run.left-p.Len
	if p.Opcode.EndsMessage() {
		r.runs = append(r.runs[:i], r.runs[i+1:]...)
	}
}
