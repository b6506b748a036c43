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

	begun    bool
	first    psn.PSN    // of the requests seen
	newest   psn.PSN    // behind the newest
	expected psn.PSN    // the request that is next for a responder at the tap, which discards what comes early
	jump     moment     // first PSN that had not passed when a later one did
	owed     moment     // oldest request that calls for an answer, with all before it seen
	nak      moment     // sequence NAK whose retransmission has not passed
	msn      psn.MSN    // of the newest acknowledgement
	leapt    bool       // a request had a PSN far from the others, and no acknowledgement has passed since
	answered bool       // a response has passed
	awaited  moment     // request that a NAK of any kind named, and that has not passed since
	damaged  moment     // request that passed with a wrong ICRC
	asked    vtime.Time // the newest request
	heard    bool       // an answer that ends something passed since then
	answer   vtime.Time // the first such
	read     psn.PSN    // next response expected of a READ
	inRead   bool
}

// moment is a PSN and when it passed.
type moment struct {
	psn   psn.PSN
	at    vtime.Time
	valid bool
}

// swapTime is by how much captures of several queues put frames out of order.
const swapTime = 20 * vtime.Microsecond

// request follows a request, which takes span PSNs; exact is false when it may take more, so that nobody knows what comes next.
func (c *course) request(p *roce.Packet, at vtime.Time, span int, exact bool) {
	if !exact {
		c.begun, c.jump, c.owed, c.nak, c.awaited = false, moment{}, moment{}, moment{}, moment{}
		return
	}
	end := p.PSN.Add(span)
	c.leapt = c.leapt || c.begun && !p.PSN.In(c.first, c.newest.Add(farPSN))
	switch {
	case !c.begun:
		c.begun, c.first, c.newest, c.expected = true, p.PSN, end, end
	case p.PSN.Less(c.newest):
		c.again(p.PSN, at)
	default:
		if !c.jump.valid && p.PSN != c.newest {
			c.jump = moment{c.newest, at, true}
		}
		if gap := at.Sub(c.asked); c.heard {
			c.requester.idle.add(at.Sub(c.answer), gap)
		} else {
			c.requester.spacing.add(gap)
		}
	}
	if c.awaited.valid && c.awaited.psn.In(p.PSN, end) {
		c.awaited.valid = false
	}
	c.newest = psn.Max(c.newest, end)
	if p.PSN.LessEq(c.expected) {
		c.expected = psn.Max(c.expected, end)
	}
	c.asked, c.heard = at, false
	if !c.owed.valid && p.PSN.Less(c.expected) && (p.AckReq || p.Opcode.IsRead() || p.Opcode.IsAtomic()) {
		c.owed = moment{p.PSN, at, true}
	}
}

// spoilt follows a request with a wrong ICRC: it passed, and whoever was to take it could not.
func (c *course) spoilt(p *roce.Packet, at vtime.Time) {
	if c.begun && p.PSN == c.newest && !p.Opcode.IsRead() {
		c.damaged = moment{p.PSN, at, true}
		c.newest = p.PSN.Next()
	}
}

// again follows a request whose PSN is behind the newest: one that was missing, or a retransmission.
func (c *course) again(p psn.PSN, at vtime.Time) {
	if c.nak.valid && p == c.nak.psn {
		c.requester.react.add(at.Sub(c.nak.at))
		c.nak.valid = false
	}
	if c.jump.valid && p == c.jump.psn {
		if at.Sub(c.jump.at) > swapTime {
			c.requester.gaps++
		}
		c.jump.valid = false
	}
	if c.owed.valid && p == c.owed.psn {
		c.responder.silent.add(at.Sub(c.owed.at))
		c.owed.at = at
	}
}

// response follows an answer.
func (c *course) response(p *roce.Packet, at vtime.Time) {
	if !c.begun {
		return
	}
	if !p.Opcode.IsReadResponse() || p.Opcode.EndsMessage() {
		if !c.heard {
			c.answer = at
		}
		c.heard = true
	}
	if !c.answered && c.newest.LessEq(p.PSN) { // the capture began in the middle of a recovery
		c.requester.missing++
		c.responder.unserved++
	}
	c.answered = true
	if p.Opcode == roce.Acknowledge {
		c.counted(p.AETH.MSN)
	}
	positive := grants(p)
	if !positive {
		c.awaited = moment{p.PSN, at, true}
	} else if c.awaited.valid && c.awaited.psn.LessEq(p.PSN) {
		c.requester.missing++
		c.awaited.valid = false
	}
	switch {
	case positive:
		if p.Opcode != roce.Acknowledge && p.PSN.In(c.expected, c.newest) {
			c.responder.unserved++
		}
		c.acknowledged(p.PSN, at)
	case p.AETH.Syndrome == roce.SyndromePSNSeqErr:
		c.owed.valid = false
		c.sequence(p.PSN, at)
	default: // what it names comes again, and what follows was not looked at
		c.owed.valid = false
		if p.PSN.In(c.first, c.expected) {
			c.expected = p.PSN
		}
	}
	if p.Opcode.IsReadResponse() {
		if c.inRead && !p.Opcode.StartsMessage() && c.read.Less(p.PSN) {
			c.responder.gaps++
		}
		c.inRead, c.read = !p.Opcode.EndsMessage(), p.PSN.Next()
	}
}

// grants reports an answer that gives what was asked for, or acknowledges it; an answer that has no AETH does.
func grants(p *roce.Packet) bool {
	return p.Opcode.Layout()&roce.LayoutAETH == 0 || p.AETH.Syndrome.IsACK()
}

// farPSN is how far ahead of the newest request another one is that a loss does not explain.
const farPSN = 256

// counted follows the MSN of an acknowledgement. One that begins again together with the PSNs is of another connection.
func (c *course) counted(n psn.MSN) {
	if c.leapt && 2*n < c.msn {
		c.responder.anew++
	}
	c.leapt, c.msn = false, n
}

// acknowledged follows an answer that says that a request was served, and those before it.
func (c *course) acknowledged(p psn.PSN, at vtime.Time) {
	if p.In(c.expected, c.newest) {
		// What did not pass here in order was received: the capture lacks it. All behind it has passed, as far as is known.
		c.requester.missing++
		c.expected = c.newest
		if c.jump.valid && p.Less(c.jump.psn) {
			c.expected = c.jump.psn
		}
	}
	if c.owed.valid && c.owed.psn.LessEq(p) {
		c.responder.answers.add(at.Sub(c.owed.at))
		c.owed.valid = false
	}
}

// sequence follows a sequence NAK.
func (c *course) sequence(p psn.PSN, at vtime.Time) {
	if c.nak.valid && c.nak.psn == p || !p.In(c.first, c.newest) {
		return
	}
	c.nak = moment{p, at, true}
	switch {
	case c.damaged.valid && c.damaged.psn == p: // lost wherever the tap is
	case p.Less(c.expected):
		c.responder.seen++
	default:
		c.requester.unseen++
	}
}
