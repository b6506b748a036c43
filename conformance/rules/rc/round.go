package rc

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// round is a round of retransmission; it begins with a retransmission that continues no burst.
type round struct {
	byTimer  bool           // no response asked for it
	min, max vtime.Duration // bounds of the time since the timer's restart
}

// rounds finds the rounds of a requester, and counts those without progress.
type rounds struct {
	c     *rule.Context
	burst burst      // the latest burst of requests
	timer restarts   // of the transport timer
	cause cause      // the latest response that asked for a round
	una   psn.PSN    // UNA at the latest sight
	data  psn.PSN    // the READ response expected at the latest sight, where those are numbered apart
	reply vtime.Time // the latest response
	ahead vtime.Time // arrival of the latest ACK of PSNs that had not been sent
	upTo  psn.PSN    // the PSN that it named
	// newest PSN sent when something was last retransmitted; an acknowledgement that leaves it outstanding is partial
	repair psn.PSN
	again  bool // repair is set
	// rounds without progress, at most: those since UNA moved, as new READ data and repeated answers need not be
	// progress
	stuck int
	spent int        // rounds since any progress that no response asked for, which count for retry_cnt
	fired vtime.Time // expiry of the transport timer that no round and no progress has followed; 0 for none
	alive vtime.Time // when the peer last repeated an answer to a READ

	latest int64       // record of the latest sight; -1 before the first
	point  trace.Point // of the latest sight
	begun  round       // the round that it began, if begins
	begins bool
}

type roundsKey struct{}

// newRounds returns the rounds of a half-conversation, which the rules of timers share from when the first of them is
// judged.
func newRounds(c *rule.Context) *rounds {
	return c.Shared(roundsKey{}, func() any { return &rounds{c: c, una: c.Start, latest: -1} }).(*rounds)
}

// sight processes a request sent or a response received, and reports whether a round begins with it.
func (r *rounds) sight(s *rule.Sight) (begun round, ok bool) {
	if int64(s.Index) != r.latest || s.Point != r.point {
		r.latest, r.point = int64(s.Index), s.Point
		r.begun, r.begins = r.take(s)
	}
	return r.begun, r.begins
}

// take processes a sight that no rule has passed to sight yet.
func (r *rounds) take(s *rule.Sight) (begun round, ok bool) {
	c, p := r.c, s.Pkt.PSN
	r.progress()
	switch {
	case s.Point == trace.RequesterIn:
		r.response(s)
		return round{}, false
	case c.Relayed(s):
		r.timer.touched = s.At
		return round{}, false
	}
	follows := r.follows(s)
	r.burst.sent(c, s)
	switch {
	case s.Relation != rule.Again:
		if c.UNA == c.MAX && r.timer.heard(c.Port, s.At) == r.timer.acked {
			r.timer.roused = s.At
		}
	case follows || !r.oldest(p):
		if r.fired > 0 && (follows && r.oldest(p) || readApart(s.Pkt)) {
			// The endpoint reported a timeout: the burst continues in the port, or a round begins at the same packet.
			// Of a READ numbered apart it may have dropped data that came early, for want of room.
			r.stuck++
			r.fired = 0
		}
		r.again, r.repair = true, c.MAX.Prev()
		r.cause.open = r.cause.open && (r.cause.single || p != c.UNA) // the packet asked for was sent
	default:
		r.again, r.repair = true, c.MAX.Prev()
		return r.begin(s), true
	}
	r.timer.touched = s.At
	return round{}, false
}

// begin begins a round. A recent response counts as its cause even when a retransmission followed it already, because
// that may have waited in the port since before the response.
func (r *rounds) begin(s *rule.Sight) round {
	asked := r.cause.open || r.cause.at > 0 && r.c.Port.Lags(r.cause.at, s.At) || r.overtaken(s)
	begun := round{!asked, s.At.Sub(r.timer.touched), s.At.Sub(r.timer.latest(r.c.Port, s.At))}
	apart := readApart(s.Pkt) // it may have a timer of its own
	r.stuck++
	if r.c.AnswerSeen() && (r.alive == 0 || !r.c.Port.Lags(r.alive, s.At)) && !asked && (!apart || r.fired > 0) {
		r.spent++
	}
	r.fired = 0
	if (!asked || !r.cause.single) && !apart {
		r.timer.begun = s.At
	}
	r.timer.touched, r.cause.open = s.At, false
	return begun
}

// overtaken reports whether a READ is sent again for an ACK beyond it that had arrived when the READ left, and that the
// requester learnt of only afterwards.
func (r *rounds) overtaken(s *rule.Sight) bool {
	_, next, _, reading := r.c.OldestRead()
	return reading && r.ahead > 0 && next.LessEq(r.upTo) && r.c.Port.Lags(r.ahead, s.At)
}

// progress processes the acknowledgements of the latest response, which show after its sight.
func (r *rounds) progress() {
	c := r.c
	moved := c.UNA != r.una
	if moved {
		r.stuck = 0
	}
	if !moved && c.Reads.EPSN == r.data {
		return
	}
	r.una, r.data, r.spent = c.UNA, c.Reads.EPSN, 0
	if r.fired <= r.reply {
		r.fired = 0
	}
	r.timer.progress(c.Port, r.reply)
	// Progress settles an older cause.
	r.cause.open = r.cause.open && (!moved || c.Port.Lags(r.cause.at, r.reply))
	if c.Keeps() && r.again && c.UNA.LessEq(r.repair) {
		// A partial ACK: packets sent before the latest retransmission are still missing, and the oldest is sent again.
		r.cause.open, r.cause.at = true, r.reply
	}
}

// follows reports whether a request continues the burst: it is the next packet, or one beyond PSNs acknowledged in the
// meantime, perhaps while it was in the port. The oldest packet begins a round of its own when the timer may have
// expired since the burst's latest packet, or a NAK asks for it during the burst; with backto0 only if it begins a
// chunk.
func (r *rounds) follows(s *rule.Sight) bool {
	c, p, t := r.c, s.Pkt.PSN, r.c.Attr.TransportTimer()
	skips := r.burst.next.Less(p) && (p == c.UNA || p.Less(c.UNA) && c.Port.Lags(r.timer.acked, s.At))
	expired := t > 0 && s.At.Sub(r.burst.left) >= t-rule.TimerEarly(t)
	if (p == c.UNA || skips) && (r.cause.open && !r.cause.single || expired) && c.GoBackPoint(p) == p {
		return false
	}
	return r.burst.any && (p == r.burst.next || skips)
}

// oldest reports whether a round begins with p: the oldest unacknowledged packet, one before it with backto0, or the
// request of a READ whose data, numbered apart, are missing.
func (r *rounds) oldest(p psn.PSN) bool {
	c := r.c
	if read, ok := c.Reads.Oldest(); ok && p == read {
		return true
	}
	return p == c.UNA || p.Less(c.UNA) && c.GoBackChunk() > 0
}

func (r *rounds) response(s *rule.Sight) {
	c, p := r.c, s.Pkt
	if !s.Intact() {
		return
	}
	r.reply, r.timer.touched = s.At, s.At
	if _, awaited := c.Reads.Oldest(); awaited && rule.IsACK(p) && c.UNA == c.MAX && p.PSN == c.UNA.Prev() {
		// A repeated answer to a READ: its data are missing, but the peer is alive.
		r.spent, r.alive = 0, s.At
	}
	ack := p.Opcode == roce.Acknowledge
	_, next, _, reading := c.OldestRead()
	switch {
	case ack && !p.AETH.Syndrome.IsACK(), !ack && !p.Opcode.IsReadResponse() && p.Opcode != roce.AtomicAck,
		reading && next.LessEq(p.PSN) && (ack || p.PSN != next): // data of the READ are missing before it
		r.cause = cause{true, s.At, rule.Selective(p)}
	case ack && c.MAX.LessEq(p.PSN):
		r.ahead, r.upTo = s.At, p.PSN
	}
}

// burst is the latest run of consecutive requests.
type burst struct {
	any  bool       // a request has left
	next psn.PSN    // PSN after the latest request
	left vtime.Time // when the latest request left
}

func (b *burst) sent(c *rule.Context, s *rule.Sight) {
	*b = burst{true, s.Pkt.PSN.Add(max(1, c.Span(s.Pkt))), s.At}
}

// cause is a response that asks for a retransmission: a NAK, a selective acknowledgement, a gap in READ data.
type cause struct {
	open bool       // no retransmission has followed it
	at   vtime.Time // its arrival
	// single marks a response that asks for single packets. Their retransmission need not restart the timer: a RACK
	// that acknowledges nothing does not (GB1, Algorithm 1).
	single bool
}

// readApart reports whether p is a READ request whose responses are numbered apart. A scheme may give each of them a
// timer of its own: "If an RD request times out, it will be resubmitted" (FaSR IV-B).
func readApart(p *roce.Packet) bool { return p.Opcode.IsRead() && p.Opcode.Class() != roce.ClassRC }

// period returns the transport timer, or 0 for a scheme with timeout parameters of its own, which its family judges.
func period(c *rule.Context) vtime.Duration {
	if slices.ContainsFunc([]string{"rto_low", "rto_high", "rtt"}, func(name string) bool {
		_, given := c.Attr.Params[name]
		return given
	}) {
		return 0
	}
	return c.Attr.TransportTimer()
}
