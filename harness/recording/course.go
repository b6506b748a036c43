package recording

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// course is what passed the tap of one half-conversation: the requests of one end of a connection, and the answers to them. From it
// follows where losses happened, before the tap or behind it, and how long each end took to react, as the tap saw it.
type course struct {
	requester, responder *host

	begun  bool
	first  psn.PSN // of the requests seen
	next   psn.PSN // behind the newest
	holes  []hole  // before next, of requests that were not seen
	owed   moment  // oldest request that calls for an answer, with all before it seen
	nak    moment  // sequence NAK whose retransmission has not been seen
	asked  vtime.Time
	heard  bool       // an answer passed since the newest request
	answer vtime.Time // the first such
	read   psn.PSN    // next response expected of a READ
	inRead bool
}

// moment is a PSN and when it passed.
type moment struct {
	psn   psn.PSN
	at    vtime.Time
	valid bool
}

// hole is a run of PSNs that did not pass.
type hole struct {
	from, to psn.PSN // to is behind the last
	at       vtime.Time
}

const (
	holeLimit = 32                     // holes remembered of a half-conversation
	swapTime  = 20 * vtime.Microsecond // what captures of several queues swap, by time
)

// request follows a request. Span is how many PSNs it takes at least; exact is false when it may take more.
func (c *course) request(p *roce.Packet, at vtime.Time, span int, exact bool) {
	end := p.PSN.Add(span)
	fresh := true
	switch d := p.PSN.Sub(c.next); {
	case !c.begun:
		c.begun, c.first, c.next = true, p.PSN, end
	case d > 0:
		if len(c.holes) < holeLimit {
			c.holes = append(c.holes, hole{c.next, p.PSN, at})
		}
		c.next = end
	default:
		fresh = d == 0
		if !fresh {
			c.again(p.PSN, end, at)
		}
		c.next = psn.Max(c.next, end)
	}
	if !exact {
		c.begun, c.holes, c.owed, c.nak = false, nil, moment{}, moment{} // where the next one begins is not known
	}
	if fresh && c.heard {
		c.requester.idle.add(at.Sub(c.answer), at.Sub(c.asked))
	}
	c.asked, c.heard = at, false
	if !c.owed.valid && len(c.holes) == 0 && (p.AckReq || p.Opcode.IsRead() || p.Opcode.IsAtomic()) {
		c.owed = moment{p.PSN, at, true}
	}
}

// again follows a request whose PSN is behind the newest: one that was missing, or a retransmission.
func (c *course) again(from, to psn.PSN, at vtime.Time) {
	if c.nak.valid && from == c.nak.psn {
		c.requester.react.add(at.Sub(c.nak.at))
		c.nak.valid = false
	}
	if c.fill(from, to, at) {
		return
	}
	if c.owed.valid && from == c.owed.psn {
		c.responder.silent.add(at.Sub(c.owed.at))
		c.owed.at = at
	}
}

// fill takes PSNs out of the holes; ok reports that some were in one.
func (c *course) fill(from, to psn.PSN, at vtime.Time) (ok bool) {
	kept := c.holes[:0]
	var rest []hole
	for _, h := range c.holes {
		if h.to.LessEq(from) || to.LessEq(h.from) {
			kept = append(kept, h)
			continue
		}
		ok = true
		if at.Sub(h.at) > swapTime {
			c.requester.gaps++
		}
		if h.from.Less(from) {
			rest = append(rest, hole{h.from, from, h.at})
		}
		if to.Less(h.to) {
			rest = append(rest, hole{to, h.to, h.at})
		}
	}
	c.holes = append(kept, rest...)
	return ok
}

// missing reports whether p is in a hole.
func (c *course) missing(p psn.PSN) bool {
	for _, h := range c.holes {
		if p.In(h.from, h.to) {
			return true
		}
	}
	return false
}

// response follows an answer.
func (c *course) response(p *roce.Packet, at vtime.Time) {
	if !c.begun {
		return
	}
	if !c.heard {
		c.heard, c.answer = true, at
	}
	plain := p.Opcode != roce.Acknowledge || p.AETH.Syndrome.IsACK()
	if p.Opcode == roce.Acknowledge && p.AETH.Syndrome == roce.SyndromePSNSeqErr {
		c.sequence(p.PSN, at)
	}
	if c.owed.valid && plain && c.owed.psn.LessEq(p.PSN) {
		c.responder.answers.add(at.Sub(c.owed.at))
		c.owed.valid = false
	}
	if c.owed.valid && !plain {
		c.owed.valid = false // what it asks for comes again, and what follows was not looked at
	}
	if p.Opcode.IsReadResponse() {
		if c.inRead && !p.Opcode.StartsMessage() && c.read.Less(p.PSN) {
			c.responder.gaps++
		}
		c.inRead, c.read = !p.Opcode.EndsMessage(), p.PSN.Next()
	}
}

// sequence follows a sequence NAK.
func (c *course) sequence(p psn.PSN, at vtime.Time) {
	if c.nak.valid && c.nak.psn == p || !p.In(c.first, c.next) || len(c.holes) == holeLimit {
		return
	}
	c.nak = moment{p, at, true}
	if c.missing(p) {
		c.requester.unseen++
	} else {
		c.responder.seen++
	}
}
