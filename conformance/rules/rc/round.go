package rc

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// round is the beginning of a retransmission: a step back that no burst goes on with.
type round struct {
	byTimer  bool           // no response asked for it
	min, max vtime.Duration // what the timer measured lies between the two
}

// rounds finds the rounds of a requester, and counts those without progress.
type rounds struct {
	c     *rule.Context
	burst burst      // the requests as they leave
	timer restarts   // of the transport timer
	cause cause      // a response that asked for a round
	una   psn.PSN    // UNA at the latest sight
	data  psn.PSN    // the READ response expected then, where those are numbered apart
	reply vtime.Time // the latest response
	// the newest packet when something was sent again last: a partial ACK leaves some of what is before it missing
	repair psn.PSN
	again  bool // something was
	// rounds since UNA moved, at most: data of a READ that is not acknowledged need be no progress, nor its answer once
	// more
	stuck int
	spent int        // rounds since any progress that count for retry_cnt: no response asked for them
	fired bool       // the transport timer has expired since the latest round
	alive vtime.Time // the peer answered a READ once more

	latest int64 // record of the latest sight, -1 before the first,
	point  trace.Point
	begun  round // and what it began
	begins bool
}

type roundsKey struct{}

// newRounds returns those of a half-conversation, which the rules of timers follow together from when the first of them
// is judged.
func newRounds(c *rule.Context) *rounds {
	return c.Shared(roundsKey{}, func() any { return &rounds{c: c, una: c.Start, latest: -1} }).(*rounds)
}

// sight takes a request out or a response in, and reports whether a round begins with it.
func (r *rounds) sight(s *rule.Sight) (begun round, ok bool) {
	if int64(s.Index) != r.latest || s.Point != r.point {
		r.latest, r.point = int64(s.Index), s.Point
		r.begun, r.begins = r.take(s)
	}
	return r.begun, r.begins
}

// take is sight for a sight that no rule has taken yet.
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
		if c.UNA == c.MAX {
			r.timer.roused = s.At
		}
	case follows || !r.oldest(p):
		if follows && r.fired && r.oldest(p) {
			// its endpoint says that the timer has expired: the burst goes on in the port, or a round begins where it
			// would
			r.stuck++
			r.fired = false
		}
		r.again, r.repair = true, c.MAX.Prev()
		r.cause.open = r.cause.open && (r.cause.single || p != c.UNA) // with it goes what was asked for
	default:
		r.again, r.repair = true, c.MAX.Prev()
		return r.begin(s), true
	}
	r.timer.touched = s.At
	return round{}, false
}

// begin is the beginning of a round. Of two reasons that come close together one may have been at work in the port
// already.
func (r *rounds) begin(s *rule.Sight) round {
	asked := r.cause.open || r.cause.at > 0 && r.c.Port.Lags(r.cause.at, s.At)
	begun := round{!asked, s.At.Sub(r.timer.touched), s.At.Sub(r.timer.latest(r.c.Port, s.At))}
	apart := readApart(s.Pkt) // which may have a timer of its own
	r.stuck++
	if r.c.AnswerSeen() && (r.alive == 0 || !r.c.Port.Lags(r.alive, s.At)) && !asked && (!apart || r.fired) {
		r.spent++
	}
	r.fired = false
	if (!asked || !r.cause.single) && !apart {
		r.timer.begun = s.At
	}
	r.timer.touched, r.cause.open = s.At, false
	return begun
}

// progress notes what the latest response has acknowledged, which shows after its sight.
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
	r.timer.progress(c.Port, r.reply)
	// progress answers what was asked for longer ago
	r.cause.open = r.cause.open && (!moved || c.Port.Lags(r.cause.at, r.reply))
	if c.Keeps() && r.again && c.UNA.LessEq(r.repair) {
		// A partial ACK: what had been sent by the last retransmission is still missing, and the oldest of it goes
		// again.
		r.cause.open, r.cause.at = true, r.reply
	}
}

// follows reports a request with which a burst goes on: the next packet, or one beyond what was acknowledged in the
// meantime, of which more may have been acknowledged while that packet was in the port. The oldest packet begins a
// round of its own when the timer may have expired since, or a NAK asks for it while a burst passes; with backto0 only
// if it begins a chunk, as a round does.
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
// request of the READ whose data, numbered apart, do not come.
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
		// The answer to a READ that was asked for once more: its data wait at a peer that is alive.
		r.spent, r.alive = 0, s.At
	}
	ack := p.Opcode == roce.Acknowledge
	_, next, _, reading := c.OldestRead()
	switch {
	case ack && !p.AETH.Syndrome.IsACK(), !ack && !p.Opcode.IsReadResponse() && p.Opcode != roce.AtomicAck,
		reading && next.LessEq(p.PSN) && (ack || p.PSN != next): // data of the READ are missing before it
		r.cause = cause{true, s.At, rule.Selective(p)}
	}
}

// burst is the requests as they leave.
type burst struct {
	any  bool       // one has
	next psn.PSN    // what follows the latest if the burst goes on
	left vtime.Time // when that left
}

func (b *burst) sent(c *rule.Context, s *rule.Sight) {
	*b = burst{true, s.Pkt.PSN.Add(max(1, c.Span(s.Pkt))), s.At}
}

// cause is a response that asks for a retransmission: a NAK, a selective acknowledgement, a gap in READ data.
type cause struct {
	open bool // nothing has been sent again for it
	at   vtime.Time
	// single is of one that asks for single packets, which need not start the timer again: a RACK that acknowledges
	// nothing does not (GB1, Algorithm 1).
	single bool
}

// restarts is what a tap shows of the restarts of a timer. It restarts with every response that acknowledges something
// and with every round, so the earliest bounds the wait from above and the latest possible one from below.
type restarts struct {
	begun   vtime.Time // the latest round
	roused  vtime.Time // the latest first request after idleness, as far as the tap shows that
	acked   vtime.Time // the latest progress
	before  vtime.Time // earlier progress
	touched vtime.Time // the latest that may restart it: any response, any request
}

func (t *restarts) progress(port *rule.Port, at vtime.Time) {
	if at.Sub(t.before) > 2*port.Wait() {
		t.before = t.acked
	}
	t.acked = at
}

// latest returns when the timer that a round at now obeys was last restarted for certain. It may have expired before
// progress of which its end had not heard, and what was sent first after that progress was then outstanding.
func (t *restarts) latest(port *rule.Port, now vtime.Time) vtime.Time {
	switch {
	case !port.Lags(t.acked, now):
		return max(t.begun, t.roused, t.acked)
	case t.roused > t.acked:
		return max(t.begun, t.before)
	}
	return max(t.begun, t.roused, t.before)
}

// readApart reports a READ request whose responses are numbered apart. A scheme may give each of them a timer of its
// own: "If an RD request times out, it will be resubmitted" (FaSR IV-B).
func readApart(p *roce.Packet) bool { return p.Opcode.IsRead() && p.Opcode.Class() != roce.ClassRC }

// period returns the transport timer; 0 of a scheme that was given timeouts beside it, which its family judges.
func period(c *rule.Context) vtime.Duration {
	if slices.ContainsFunc([]string{"rto_low", "rto_high", "rtt"}, func(name string) bool {
		_, given := c.Attr.Params[name]
		return given
	}) {
		return 0
	}
	return c.Attr.TransportTimer()
}
