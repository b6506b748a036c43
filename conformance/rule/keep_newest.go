package rule

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// assumption is the run of requests, from first to the expected PSN, that the responder may have dropped although it
// was their turn: first is one that arrived early and that no SACK had named, and the others rest on it. A responder of
// which no attributes are known may keep few. For one with KeepsNewest, "When the bitmap is exhausted, FaSR
// automatically switches to GBN" (FaSR III-D), which only a NAK shows, later.
type assumption struct {
	first psn.PSN // valid when open
	open  bool    // there is such a run
	again bool    // a copy of one of them has arrived: the others may have been dropped before it and need copies too
}

// accept begins a run with request x if none is open.
func (a *assumption) accept(x *kept) {
	if x.assumed && !a.open {
		*a = assumption{open: true, first: x.bth.PSN}
	}
}

// proven takes from the run the requests before p, which the responder has executed, and those that rest on nothing
// else.
func (k *keep) proven(p, expected psn.PSN) {
	if a := &k.assumed; a.open && a.first.Less(p) {
		a.first = p
		k.follow(expected)
	}
}

// Assumed reports whether request p was accepted only because it had come early, so that the responder may have dropped
// it, and executed a copy.
func Assumed(c *Conversation, p psn.PSN) bool {
	x := c.responder.keep.find(p)
	return x != nil && x.assumed
}

// mayDrop reports whether the responder may drop a request that arrives although its turn seems to have come: it came
// early, no selective answer has named it, and no attributes tell how many the responder keeps; or it rests on such
// requests.
func mayDrop(c *Conversation, s *Sight) bool {
	if c.Known || s.Point != trace.ResponderIn || s.Pkt.Opcode.NumberedApart() {
		return false
	}
	k := &c.responder.keep
	if a := &k.assumed; a.open && a.first.LessEq(s.Pkt.PSN) {
		return true
	}
	x := k.find(s.Pkt.PSN)
	return s.Relation == Released && (x == nil || !x.told)
}

// received takes from the run the requests up to p, whose receive the responder has reported as complete.
func (k *keep) received(p, expected psn.PSN) {
	if x := k.find(p); k.rising && x != nil && x.bth.Opcode.TakesReceive() {
		k.proven(p.Next(), expected)
	}
}

// repeats notes a copy of a request that was accepted. If the first request of the run was dropped, its copy is
// executed.
func (k *keep) repeats(p, expected psn.PSN) {
	a := &k.assumed
	if !a.open || p.Less(a.first) {
		return
	}
	a.again = true
	if p == a.first {
		k.proven(p.Next(), expected)
	}
}

// follow takes from the run the first requests that were surely executed in their turn, because none is missing before
// them: those that a SACK has named, and if no copies have arrived those that had not come early.
func (k *keep) follow(expected psn.PSN) {
	a := &k.assumed
	for ; a.first.Less(expected); a.first = a.first.Next() {
		if x := k.find(a.first); x != nil && !x.told && (x.assumed || a.again) {
			return
		}
	}
	a.open = false
}

// forget drops held request p because an FNACK says that the responder did not keep it. It keeps a request that was the
// newest on arrival: the FNACK is then about a later copy.
func (c *Conversation) forget(p psn.PSN) {
	if x := c.responder.keep.find(p); x != nil && x.waits && x.below {
		x.waits = false
		c.Held--
	}
}

// names records that a selective answer names an early request, and which requests a response acknowledges.
func (c *Conversation) names(p *roce.Packet) {
	k := &c.responder.keep
	if Selective(p) && p.Opcode != roce.FNACK {
		if x := k.find(p.SACK.PSN); x != nil {
			x.told = true
		}
	}
	if last, ok := Acknowledged(p); ok {
		k.proven(last.Next(), c.EPSN)
	}
}

// falls updates the state by a sequence NAK of a responder with KeepsNewest: it has no room to keep more requests, and
// goes back N until the expected PSN has passed every PSN that it saw (FaSR III-D). It dropped the early requests that
// no SACK has named. The NAK names the expected PSN, so requests from there on that were assumed kept, and so accepted,
// were dropped too.
func (c *Conversation) falls(p *roce.Packet) {
	k := &c.responder.keep
	if !k.rising || !IsNAK(p) {
		return
	}
	k.proven(p.PSN, c.EPSN)
	if x := k.find(p.PSN); x != nil && !x.told && k.assumed.open && k.assumed.first == p.PSN {
		k.newest = psn.Max(k.newest, c.EPSN.Prev())
		c.EPSN, c.MSN, c.responder.pos, c.responder.lost = p.PSN, x.msn, x.pos, false
		c.GapOpen, k.assumed.open = true, false
	}
	for q := c.EPSN; q.LessEq(k.newest) && q.Sub(c.EPSN) < len(k.slots); q = q.Next() {
		switch x := k.find(q); {
		case x == nil || x.doubt:
		case x.told && !x.waits:
			c.await(x)
		case !x.told:
			if x.waits {
				c.Held--
			}
			x.waits, x.doubt = false, true
		}
	}
	k.fallen = c.EPSN.LessEq(k.newest)
}
