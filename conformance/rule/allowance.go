package rule

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/shim"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// This file holds every reason why an end may be late, or may not yet know of a packet that its tap has seen arrive: no
// rule has an allowance of its own. Each allowance is an interval with a reason.
//
//	reason                                            the end may be late by
//	an endpoint takes time to answer                  Patience; over its host's IP or TCP HostPatience
//	the port is busy, and the turn is another QP's    until it pauses, or the QP's turn has come: Late
//	answers leave in the order of the requests        as long as data of READs leave before them: Late; an ACK, as long
//	                                                  as others go further: Obligation.Restart
//	packets were handed to the port before            Handed packets of the QP: Departures.Knew
//	packets wait between an engine and its port       Port.Wait: Port.Lags; answers that queue there, until it pauses:
//	                                                  Port.Busy
//	a timer has a resolution                          TimerSlack; it may seem fast by TimerEarly
//	the QP failed                                     for ever: exempt; that it waits for a receive is for the rule to
//	                                                  say (Excuse)
//	the QP may have given up, for want of answers     until it shows that it has not: Late, giveup.go
//	to its own requests                               ever what could still be done late: Obligation
//	a box waits for its own peer, or has given up     for ever: exempt
const (
	// Patience is how long an endpoint, or a box, may take to answer before silence is a violation. IBTA gives no
	// bound; 10 ms is far above the processing time of an RNIC or a host stack, and below the transport timers used
	// over a WAN.
	Patience = 10 * vtime.Millisecond

	// HostPatience is Patience for an endpoint whose packets also pass the IP or TCP stack of its host.
	HostPatience = 2 * Patience

	// Drain is how long packets that an endpoint has already handed to its port may still leave the port, and thus how
	// long it may act as if a packet that its tap has seen arrive had not arrived. A NIC takes microseconds; a software
	// endpoint may have been descheduled for one scheduling slot. A run in which the host delayed an endpoint for
	// longer is INVALID, so that no family needs to allow more, and none may allow less. Over the host's TCP, where
	// only that family's rules apply and its own allowance is wider, an endpoint may be delayed for twice as long.
	Drain = 5 * vtime.Millisecond

	// TimerSlow is the longest period of a transport timer in multiples of its nominal value (IBTA 9.7.6.1.3: between
	// T_tr and 4 T_tr).
	TimerSlow = 4
)

// TimerSlack is how late a timer may seem to expire because packets wait between the engine and the tap.
func TimerSlack(t vtime.Duration) vtime.Duration { return t/100 + 50*vtime.Microsecond }

// TimerEarly is how early a timer may seem to expire: the packet that started it may have waited in the port for up to
// Drain, and the retransmission not at all. For a short timer it is a quarter of the period, because otherwise no early
// expiry could be judged.
func TimerEarly(t vtime.Duration) vtime.Duration { return max(TimerSlack(t), min(Drain, t/4)) }

// turn is the latest packet that one side of a connection sent, and whether its QP may have given up since, see lives.
// Every flow has two, so that the times but at are kept by micros.
type turn struct {
	at      vtime.Time
	again   uint32 // value of Port.Again at that time
	lived   uint32 // time of its latest packet while spent, before the answer
	reply   uint32 // time of the answer; valid when answered is true
	repeats bool   // the packet was a retransmitted request, which an answer of the same QP may follow before others
	// the retries of the oldest unanswered request were spent, and nothing shows that the QP lives on
	spent    bool
	answered bool // that request has been answered since
}

// took records a packet that leaves an end of c.
func took(c *Conversation, s *Sight) {
	who := Requester
	if !s.Point.AtRequester() {
		if who = Responder; s.Pkt.Opcode.IsReadResponse() {
			c.data = s.At
		}
	}
	port, own := endOf(c, who)
	if own.repeats && who == Responder {
		port.occupied(s)
	}
	own.at, own.again, own.repeats = s.At, micros(vtime.Time(port.Again)), false
}

// endOf returns the port of an end of c, and the turn of c at that port.
func endOf(c *Conversation, who Blame) (*Port, *turn) {
	own := &c.turns[sideOf(c, who)&1]
	if who == Requester {
		return c.Port, own
	}
	return c.PeerPort, own
}

// sideOf returns the side of an end of c.
func sideOf(c *Conversation, who Blame) trace.Side {
	if who == Requester {
		return c.Req
	}
	return c.Req.Other()
}

// Late reports whether a packet that an end owes from due on, with patience to act, should have been seen by now. An
// answer may wait for READ responses that leave before it. While the line is busy, a QP sends one packet per turn, and
// retransmissions of all QPs may go first. An end that may have given up its own requests before it was late owes
// nothing.
func (c *Context) Late(who Blame, due vtime.Time, patience vtime.Duration, now vtime.Time) bool {
	if who == Responder {
		due = max(due, c.data)
	}
	latest := due.Add(patience)
	if now < latest || mayHaveGivenUp(c.Conversation, sideOf(c.Conversation, who), latest) {
		return false
	}
	port, own := endOf(c.Conversation, who)
	repeated := since(micros(vtime.Time(port.Again)), own.again)
	return !port.Busy(latest, now) || now.Sub(max(due, own.at)) > port.Turn+repeated
}

// exempt reports whether an end owes nothing more: its QP is in error, or the box in its place has given up or need not
// answer yet.
func (c *Context) exempt(who Blame) bool {
	if who == Requester {
		return c.Failed || c.givenUp()
	}
	return c.Fatal || c.boxWaits()
}

// Wait is the longest time between the decision to send a packet and the time at which it leaves the port: Drain, or
// one turn of all QPs if that is longer. Meanwhile the packet waits behind others, such as READ responses of the same
// endpoint. Below a shim that codes blocks the repair packets of the block before leave first, each in a turn.
func (p *Port) Wait() vtime.Duration { return max(Drain, vtime.Duration(1+p.repairs)*p.Turn) }

// instant is the finest resolution of a capture's time stamps.
const instant = vtime.Nanosecond

// Together reports whether a sight may precede a packet seen at last: their times differ by less than the resolution of
// the time stamps.
func (s *Sight) Together(last vtime.Time) bool {
	return last != vtime.Never && s.At.Sub(last) < max(instant, s.tick)
}

// Before reports whether a sight precedes then by at least the resolution of the time stamps.
func (s *Sight) Before(then vtime.Time) bool { return then.Sub(s.At) >= max(instant, s.tick) }

// Lags reports whether a packet that leaves the port now may have been made before then, so that its sender did not
// know of a packet that its tap saw arrive at then.
func (p *Port) Lags(then, now vtime.Time) bool { return now.Sub(then) <= p.Wait() }

// Handed is the most packets of a QP that its end may have handed to the port before it knew of a packet that its tap
// has seen arrive.
const Handed = 64

// Departures holds the times at which the latest packets of a QP left one end.
type Departures struct {
	handed int          // most packets that the end may have handed to its port, see Handed
	times  []vtime.Time // of the latest packets, at most handed of them, in a ring
	oldest int          // index of the oldest of them, when there are handed
}

// NewDepartures returns the Departures of an end that may have handed that many packets to its port.
func NewDepartures(handed int) Departures { return Departures{handed: handed} }

// Left records that a packet left.
func (d *Departures) Left(at vtime.Time) {
	if len(d.times) < d.handed {
		d.times = append(d.times, at)
		return
	}
	d.times[d.oldest] = at
	d.oldest = (d.oldest + 1) % d.handed
}

// Knew reports whether a packet that leaves at now was certainly made after since, the time from which its end could
// know of a packet that its tap saw arrive, perhaps earlier. It is certain when handed packets have left after since,
// or when Drain has passed.
func (d *Departures) Knew(since, now vtime.Time) bool {
	return now.Sub(since) >= Drain || len(d.times) == d.handed && d.times[d.oldest] > since
}

// Heard is a PSN that acknowledgements advance, in two views: newest as the tap saw them arrive, and sure as their
// receiver certainly knows. sure <= newest.
type Heard struct {
	sure, newest psn.PSN
	moves        []movement
}

// movement is the arrival of an acknowledgement of all PSNs before to.
type movement struct {
	to psn.PSN
	at vtime.Time
}

// HeardOf returns a Heard at the first PSN.
func HeardOf(p psn.PSN) Heard { return Heard{sure: p, newest: p} }

// Newest returns the PSN from all acknowledgements that the tap has seen arrive.
func (h *Heard) Newest() psn.PSN { return h.newest }

// Moved records the arrival of an acknowledgement.
func (h *Heard) Moved(to psn.PSN, at vtime.Time) {
	h.newest = to
	h.moves = append(h.moves, movement{to, at})
}

// Sure returns the PSN that the receiver of the acknowledgements certainly knows when a packet leaves its port at now.
func (h *Heard) Sure(p *Port, now vtime.Time) psn.PSN {
	n := 0
	for n < len(h.moves) && !p.Lags(h.moves[n].at, now) {
		h.sure = h.moves[n].to
		n++
	}
	h.moves = h.moves[:copy(h.moves, h.moves[n:])]
	return h.sure
}

// Began returns the earliest time at which a packet that leaves may have begun to leave; packets that arrive later
// cannot have caused it. That is the time of the sight, unless taps are behind the line, where a packet is seen when
// its last bit has left. A foreign capture may have been taken there, the rate of its line is estimated, and two of its
// time stamps tell a time between them to one tick.
func (c *Context) Began(s *Sight) vtime.Time {
	if !c.Known || c.owner != nil && c.owner.header.Bench == trace.FileBench {
		port := c.Port
		if s.Point == trace.ResponderOut {
			port = c.PeerPort
		}
		return s.At.Add(-s.tick - max(0, min(s.Since+s.tick, port.atMost(s.Rec.WireBytes, s.tick))))
	}
	if rate := c.Attr.Path.Rate; c.behind && rate > 0 {
		return s.At.Add(-rate.Time(s.Rec.WireBytes))
	}
	return s.At
}

// InPort reports whether a request that leaves may already have been in the port at since, when a packet arrived at its
// sender.
func (c *Context) InPort(s *Sight, since vtime.Time) bool {
	return c.Began(s) < since || c.Port.Lags(since, s.At)
}

// Relayed reports whether a READ or atomic is sent again by a box because the box's client sent it again. The box keeps
// no data, so the responder has to replay them; no timer or answer of the box causes the retransmission.
func (c *Context) Relayed(s *Sight) bool {
	o := s.Pkt.Opcode
	return c.ByBox && s.Relation == Again && (o.IsRead() || o.IsAtomic())
}

// givenUp reports whether a box in the requester's place has sent the oldest unacknowledged request as often as
// RetryCount allows. A box reports nothing when it gives up.
func (c *Context) givenUp() bool {
	r, most := &c.requester, int(c.Attr.RetryCount)
	return c.ByBox && c.Known && (most == 0 || r.stuck == c.UNA && int(r.rounds) >= most)
}

// boxWaits reports whether a box in the responder's place need not answer yet. It cannot answer READs or atomics whose
// data it still awaits from the far end, nor later requests before those; and it does not acknowledge requests beyond
// its buffer.
func (c *Context) boxWaits() bool {
	return c.AtBox && (c.OutstandingReads() > 0 || c.Overfills(c.unanswered()))
}

// Port is the state of the port that all QPs of one side share, as an observer can derive it. A packet that an engine
// wants to send waits there for the line, so a packet that leaves late may have been made in time.
type Port struct {
	// Turn is the time that the line takes for two full packets of every QP, one of requests and one of responses: with
	// round-robin service no QP waits longer. It is 0 when the rate is not known.
	Turn vtime.Duration

	Packets uint64 // packets of all QPs that have left so far

	// Again is the total time for which retransmitted requests have occupied the line, and answers of the same QPs
	// between them. Where retransmissions go first, a turn takes that much longer; 0 when the rate is not known.
	Again vtime.Duration

	rate  unit.Rate      // of the line; 0 when unknown
	full  vtime.Duration // time of a full packet on the line; 0 when unknown
	since vtime.Time     // start of the latest burst: packets have left without a pause since
	last  vtime.Time     // time of the latest packet

	// the gap between two packets with the least time per byte, an upper bound on the line's time for that many bytes;
	// bytes is 0 before the second packet
	gap   vtime.Duration
	bytes int

	queries bool // its endpoint's transport has the feature QueriesHost
	repairs int  // most repair packets of a block of one QP; 0 without a shim that codes blocks

	shares
}

const (
	// most bytes on the line of a full packet beside its payload: with the RETH of a WRITE and the headers of a scheme
	fullHeaders = 104
	pauseSlack  = 100 * vtime.Microsecond
)

// newPort returns the port of a side, with the line's rate when the header has it.
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

// repairsOf returns the repair packets of a block: the greatest depth that a side's QPs are configured with.
func repairsOf(h *trace.Header, side trace.Side) (most int) {
	for i := range h.Conns {
		most = max(most, shim.Depth(h.Conns[i].Ends[side].QP.Params))
	}
	return most
}

// pause reports whether the port was idle between its latest packet and now. On a full line the gap is at most the time
// of one full packet; up to twice that, plus pauseSlack for clock error, another packet may not have fitted.
func (p *Port) pause(now vtime.Time) bool {
	return p.full == 0 || now.Sub(p.last) > 2*p.full+pauseSlack
}

// slowest is a rate below that of any line in use for RDMA.
const slowest = 100 * unit.Mbps

// atMost returns an upper bound on the line's time for a packet, from the smallest gap seen between packets, whose time
// stamps have the resolution tick.
func (p *Port) atMost(bytes int, tick vtime.Duration) vtime.Duration {
	slow := slowest.Time(bytes)
	if p.bytes == 0 {
		return slow
	}
	return min(slow, vtime.Duration(float64(p.gap+tick)*float64(bytes)/float64(p.bytes)))
}

// sent records that a packet of that many bytes leaves.
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

// again records that the requester of c retransmits a request.
func (p *Port) again(c *Conversation, s *Sight) {
	c.turns[c.Req&1].repeats = true
	p.occupied(s)
}

// occupied adds the time of a packet to Again.
func (p *Port) occupied(s *Sight) {
	if p.rate > 0 {
		p.Again += p.rate.Time(s.Rec.WireBytes)
	}
}

// Busy reports whether the port has sent without a pause from then to now, so that a packet made at then may have
// waited until now. It is false when the rate of the line is unknown.
func (p *Port) Busy(then, now vtime.Time) bool { return p.since <= then && !p.pause(now) }

// Holds is Busy, and where the rate of the line is unknown, so that nothing shows whether it was busy, Lags.
func (p *Port) Holds(then, now vtime.Time) bool {
	if p.full == 0 {
		return p.Lags(then, now)
	}
	return p.Busy(then, now)
}
