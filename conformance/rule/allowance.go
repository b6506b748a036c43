package rule

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// This file is the one account of why an end may be late, or may not have heard yet: no rule has an allowance of its
// own. Each is an interval, and each has its reason.
//
//	reason                                            the end may be late by
//	an endpoint takes time to answer                  Patience; over its host's IP or TCP HostPatience
//	the port is busy, and the turn is another QP's    until it pauses, or the QP's turn has come: Late
//	answers leave in the order of the requests        as long as data of READs leave before them: Late
//	packets were handed to the port before            Handed packets of the QP: Moment.Acted
//	packets wait between an engine and its port       Port.Wait: Port.Lags; answers that queue there, until it pauses:
//	                                                  Port.Busy
//	a timer has a resolution                          TimerSlack; it may seem fast by TimerEarly
//	the QP failed                                     for ever: exempt; that it waits for a receive is for the rule to
//	                                                  say (Excuse)
//	a box waits for its own peer, or has given up     for ever: exempt
const (
	// Patience is how long an endpoint, or a box, may take to answer before silence is a violation. IBTA gives no
	// bound; 10 ms is far above the processing time of an RNIC or a host stack, and below the transport timers in use
	// over a WAN.
	Patience = 10 * vtime.Millisecond

	// HostPatience is Patience for an endpoint whose packets pass its host's own IP or TCP as well.
	HostPatience = 2 * Patience

	// Drain is how long packets that an endpoint had already handed to its port may still leave it, and thus how long
	// it may go on as if it had not heard of what its tap has seen arrive. A NIC takes microseconds; a software
	// endpoint may just have lost its processor for a scheduling slot. A run in which the host let an endpoint wait for
	// longer than this is INVALID, so that no family needs to allow for more, and none may allow for less. Over the
	// host's TCP, where only that family's rules apply and its own allowance is wider, an endpoint may wait for twice
	// as long.
	Drain = 5 * vtime.Millisecond

	// TimerSlow is how many times its nominal value a transport timer may take (IBTA 9.7.6.1.3: between T_tr and 4
	// T_tr).
	TimerSlow = 4
)

// TimerSlack is how much a timer may seem to run slow because packets wait between the engine and the tap.
func TimerSlack(t vtime.Duration) vtime.Duration { return t/100 + 50*vtime.Microsecond }

// TimerEarly is how much a timer may seem to run fast: the packet that it began with may have waited in the port for as
// long as a host may let it, and the retransmission not at all. Of a short timer that is a quarter, or there would be
// nothing to judge.
func TimerEarly(t vtime.Duration) vtime.Duration { return max(TimerSlack(t), min(Drain, t/4)) }

// turn is when one side of a connection last sent something, and what the retransmissions of all QPs had taken of its
// line by then.
type turn struct {
	at    vtime.Time
	again vtime.Duration
}

// took notes a packet that leaves an end of c.
func took(c *Conversation, s *Sight) {
	who := Requester
	if !s.Point.AtRequester() {
		if who = Responder; s.Pkt.Opcode.IsReadResponse() {
			c.data = s.At
		}
	}
	port, own := endOf(c, who)
	*own = turn{s.At, port.Again}
}

// endOf returns the port of an end of c, and its latest turn there.
func endOf(c *Conversation, who Blame) (*Port, *turn) {
	if who == Requester {
		return c.Port, &c.turns[c.Req&1]
	}
	return c.PeerPort, &c.turns[c.Req.Other()&1]
}

// Late reports whether what an end has to do from a time on should have been seen by now, when it may take its
// patience. An answer waits for the data of READs that leave before it. While the line is busy a QP sends one packet at
// its turn, and retransmissions of all QPs may go before it.
func (c *Context) Late(who Blame, due vtime.Time, patience vtime.Duration, now vtime.Time) bool {
	if who == Responder {
		due = max(due, c.data)
	}
	latest := due.Add(patience)
	if now < latest {
		return false
	}
	port, own := endOf(c.Conversation, who)
	return !port.Busy(latest, now) || now.Sub(max(due, own.at)) > port.Turn+port.Again-own.again
}

// exempt reports an end that owes nothing more: its QP is in error, or a box stands in for it that has given up, or may
// not answer yet.
func (c *Context) exempt(who Blame) bool {
	if who == Requester {
		return c.Failed || c.GivenUp()
	}
	return c.Fatal || c.BoxWaits()
}

// Wait is how long a packet may wait in the port behind others, such as READ responses of the same endpoint, or for a
// turn of all QPs if that is longer: so much earlier its sender may have decided to send it.
func (p *Port) Wait() vtime.Duration { return max(Drain, p.Turn) }

// instant is the resolution of a capture's time stamps: what is closer has no order that a tap can tell.
const instant = vtime.Nanosecond

// Together reports whether a sight may have come before what was seen at last: the two are of one instant.
func (s *Sight) Together(last vtime.Time) bool {
	return last != vtime.Never && s.At.Sub(last) < instant
}

// Before reports whether a sight came before then, by more than the resolution of a capture's time stamps.
func (s *Sight) Before(then vtime.Time) bool { return then.Sub(s.At) >= instant }

// Lags reports whether what leaves the port now may have been made before then, so that its sender had not heard of
// what its tap saw then.
func (p *Port) Lags(then, now vtime.Time) bool { return now.Sub(then) <= p.Wait() }

// Handed is how many packets of a QP its end may have handed to its port before it heard of what its tap has seen
// arrive.
const Handed = 64

// Moment is when an end can have heard of something that has reached it, and how many packets of its QP had left it by
// then.
type Moment struct {
	At   vtime.Time
	Sent int
}

// Acted reports whether an end has certainly acted on what it heard of at m when now a packet leaves, sent others
// having left before: so many as it may have handed to its port have, or its port has had time.
func (m Moment) Acted(now vtime.Time, sent, handed int) bool {
	return now >= m.At && (now.Sub(m.At) >= Drain || sent-m.Sent >= handed)
}

// Heard is a PSN that acknowledgements move, as their receiver knows it: what has just arrived it may not have heard
// of.
type Heard struct {
	sure, newest psn.PSN
	moves        []movement
}

// movement is an acknowledgement of what is before a PSN.
type movement struct {
	to psn.PSN
	at vtime.Time
}

// HeardOf starts where the first PSN is known.
func HeardOf(p psn.PSN) Heard { return Heard{sure: p, newest: p} }

// Newest returns the PSN as the tap knows it.
func (h *Heard) Newest() psn.PSN { return h.newest }

// Moved notes an acknowledgement.
func (h *Heard) Moved(to psn.PSN, at vtime.Time) {
	h.newest = to
	h.moves = append(h.moves, movement{to, at})
}

// Sure returns the PSN that the receiver has certainly heard of when it sends something from its port.
func (h *Heard) Sure(p *Port, now vtime.Time) psn.PSN {
	n := 0
	for n < len(h.moves) && !p.Lags(h.moves[n].at, now) {
		h.sure = h.moves[n].to
		n++
	}
	h.moves = h.moves[:copy(h.moves, h.moves[n:])]
	return h.sure
}

// Began returns when a packet that leaves began to, at the earliest: what comes later cannot change it any more. It is
// the time of the sight, but where taps are behind the line and its rate is known; a foreign capture may have been
// taken there, whatever the rate.
func (c *Context) Began(s *Sight) vtime.Time {
	if !c.Known {
		port := c.Port
		if s.Point == trace.ResponderOut {
			port = c.PeerPort
		}
		return s.At.Add(-max(0, min(s.Since, port.atMost(s.Rec.WireBytes))))
	}
	if rate := c.Attr.Path.Rate; c.behind && rate > 0 {
		return s.At.Add(-rate.Time(s.Rec.WireBytes))
	}
	return s.At
}

// InPort reports whether a request that leaves may have been on its way through the port when something arrived at its
// sender.
func (c *Context) InPort(s *Sight, since vtime.Time) bool {
	return c.Began(s) < since || c.Port.Lags(since, s.At)
}

// Relayed reports a READ or atomic that a box sends again because its client does: it keeps no data, so the responder
// has to replay them, and no timer or answer of the box's is behind it.
func (c *Context) Relayed(s *Sight) bool {
	o := s.Pkt.Opcode
	return c.ByBox && s.Relation == Again && (o.IsRead() || o.IsAtomic())
}

// GivenUp reports a box in the requester's place that has sent the oldest request that is not acknowledged as often as
// it may. It tells nobody that it has given up.
func (c *Context) GivenUp() bool {
	r, most := &c.requester, int(c.Attr.RetryCount)
	return c.ByBox && c.Known && (most == 0 || r.stuck == c.UNA && r.rounds >= most)
}

// BoxWaits reports a box in the responder's place that need not answer yet: for READs or atomics that it has passed on
// and whose data have not come, it can neither answer them nor, before them, what follows; and what it may not promise,
// it does not answer.
func (c *Context) BoxWaits() bool {
	return c.AtBox && (c.OutstandingReads() > 0 || c.Overfills(c.unanswered()))
}

// Port is what an observer can tell of the port that all QPs of one side share. A packet that an engine wants to send
// waits there for the line, so what leaves late may have been wanted in time.
type Port struct {
	// Turn is how long the line takes for a full packet of every QP and one that answers for each: who is served in
	// turn does not wait longer. It is 0 when the rate is not known.
	Turn vtime.Duration

	Packets uint64 // that have left so far, of all QPs

	// Again is how long requests that were sent again have taken the line so far. Where those go before everything
	// else, a turn takes so much longer; 0 when the rate is not known.
	Again vtime.Duration

	rate  unit.Rate      // of the line; 0 when not known
	full  vtime.Duration // a full packet on the line; 0 when not known
	since vtime.Time     // packets have left without a pause since then
	last  vtime.Time     // the latest packet

	// the shortest time per byte between two packets: the line takes no longer for them; zero when nothing is known
	gap   vtime.Duration
	bytes int

	queries bool // its endpoint is of a transport with QueriesHost

	shares
}

const (
	// bytes of a full packet on the line beside its payload, at most: the RETH of a WRITE, and what a scheme adds
	fullHeaders = 104
	pauseSlack  = 100 * vtime.Microsecond
)

// newPort starts the port of a side from what the header knows of its line.
func newPort(h *trace.Header, side trace.Side) Port {
	if len(h.Conns) == 0 {
		return Port{}
	}
	end := &h.Conns[0].Ends[side]
	if !end.Known || end.QP.Path.Rate <= unit.Rate(0) {
		return Port{}
	}
	full := end.QP.Path.Rate.Time(end.QP.MTU + fullHeaders)
	return Port{rate: end.QP.Path.Rate, full: full, Turn: 2 * full * vtime.Duration(len(h.Conns))}
}

// pause reports whether the port was idle between its latest packet and now. A line that is full leaves no more than a
// packet's time between two; twice that, and what a clock may be off, is still no room for one more.
func (p *Port) pause(now vtime.Time) bool {
	return p.full == 0 || now.Sub(p.last) > 2*p.full+pauseSlack
}

// slowest is the rate below which nobody puts a line under RDMA.
const slowest = 100 * unit.Mbps

// atMost returns how long the line takes for a packet at most, by how fast packets have followed each other on it.
func (p *Port) atMost(bytes int) vtime.Duration {
	slow := slowest.Time(bytes)
	if p.bytes == 0 {
		return slow
	}
	return min(slow, vtime.Duration(float64(p.gap)*float64(bytes)/float64(p.bytes)))
}

// sent notes that a packet of so many bytes leaves.
func (p *Port) sent(at vtime.Time, bytes int) {
	if gap := at.Sub(p.last); p.Packets > 0 && gap > 0 &&
		(p.bytes == 0 || float64(gap)*float64(p.bytes) < float64(p.gap)*float64(bytes)) {
		p.gap, p.bytes = gap, bytes
	}
	if p.pause(at) {
		p.since = at
	}
	p.last = at
	p.Packets++
}

// again notes that a request leaves once more.
func (p *Port) again(s *Sight) {
	if p.rate > 0 {
		p.Again += p.rate.Time(s.Rec.WireBytes)
	}
}

// Busy reports whether the port has sent without a pause between then and now, so that a packet wanted then may have
// waited until now. It is false when the rate of the line is not known.
func (p *Port) Busy(then, now vtime.Time) bool { return p.since <= then && !p.pause(now) }
