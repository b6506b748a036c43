package rc

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// rounds finds the moments at which a requester begins to retransmit, and what the transport timer must have measured
// until then. A timer restarts with every response that acknowledges something and with every round, so the earliest
// restart bounds the wait from above and the latest possible one from below.
type rounds struct {
	c        *rule.Context
	una      psn.PSN    // UNA at the latest sight
	data     psn.PSN    // and the READ response expected then, where those are numbered apart
	begun    vtime.Time // the latest round: it starts the timer
	roused   vtime.Time // the latest first request after idleness, as far as the tap shows that: it starts the timer
	acked    vtime.Time // the latest progress: it restarts the timer
	before   vtime.Time // earlier progress
	touched  vtime.Time // the latest event that may restart it: any response, any request
	reply    vtime.Time // latest response
	again    bool       // something was sent again,
	newest   psn.PSN    // and the newest packet at the latest such time
	asked    bool       // a response asked for a retransmission: a NAK, a selective acknowledgement, a gap in READ data
	askedAt  vtime.Time // when,
	single   bool       // for single packets, which need not start the timer again: a RACK that acknowledges nothing does not (GB1, Algorithm 1)
	expected psn.PSN    // what follows the latest request if a burst goes on
	sent     bool       // there is one,
	left     vtime.Time // and it left then
	count    int        // rounds without progress, those that a response asked for included
	replies  int        // of them, those
	stuck    int        // rounds since UNA moved: data of a READ that is not acknowledged need be no progress
	own      int        // of count, requests of READs that no timeout was reported for: they have timers of their own
	expired  bool       // the transport timer, since the latest round
	alive    vtime.Time // the peer answered a READ once more; a round that waits for the line may have begun before
}

// round is the beginning of a retransmission.
type round struct {
	byTimer  bool
	min, max vtime.Duration // what the timer measured lies between the two
}

// sight takes a request out or a response in, and reports whether a round of retransmission begins with it.
func (r *rounds) sight(s *rule.Sight) (begun round, ok bool) {
	c, p := r.c, s.Pkt
	if c.UNA != r.una {
		r.stuck = 0
	}
	if c.UNA != r.una || c.Reads.EPSN != r.data {
		r.una, r.data, r.count, r.replies, r.own = c.UNA, c.Reads.EPSN, 0, 0, 0
		r.progress(r.reply)
		r.asked = r.asked && r.reply.Sub(r.askedAt) <= rule.Drain // progress answers what was asked for longer ago
		if c.Keeps() && r.again && c.UNA.LessEq(r.newest) {
			// A partial ACK: what had been sent by the last retransmission is still missing, and the oldest of it goes again.
			r.asked, r.askedAt = true, r.reply
		}
	}
	if s.Point == trace.RequesterIn {
		r.response(s)
		return round{}, false
	}
	if c.Relayed(s) {
		r.touched = s.At
		return round{}, false
	}
	follows := r.follows(s)
	r.expected, r.sent, r.left = p.PSN.Add(max(1, c.Span(p))), true, s.At
	if s.Relation == rule.Again {
		r.again, r.newest = true, c.MAX.Prev()
	} else {
		if c.UNA == c.MAX {
			r.roused = s.At
		}
		r.touched = s.At
		return round{}, false
	}
	if follows || !r.oldest(p.PSN) {
		r.asked = r.asked && (r.single || p.PSN != c.UNA) // with it goes what was asked for
		r.touched = s.At
		return round{}, false
	}
	// Of two reasons that come close together one may have been at work in the port already.
	asked := r.asked || r.askedAt > 0 && s.At.Sub(r.askedAt) <= c.Port.Wait()
	begun = round{!asked, s.At.Sub(r.touched), s.At.Sub(r.restart(s.At))}
	if r.alive == 0 || s.At.Sub(r.alive) > c.Port.Turn {
		r.count++
		r.stuck++
	}
	switch {
	case asked:
		r.replies++
	case readApart(s.Pkt) && !r.expired:
		r.own++
	}
	r.expired = false
	if (!asked || !r.single) && !readApart(s.Pkt) { // which may have a timer of its own
		r.begun = s.At
	}
	r.touched, r.asked = s.At, false
	return begun, true
}

// follows reports a request with which a burst goes on: the next packet, or one beyond what was acknowledged in the meantime, of
// which more may have been acknowledged while that packet was in the port. The oldest packet begins a round of its own when the
// timer may have expired since, or a NAK asks for it while a burst passes; with backto0 only if it begins a chunk, as a round does.
func (r *rounds) follows(s *rule.Sight) bool {
	c, p := r.c, s.Pkt.PSN
	t := c.Attr.TransportTimer()
	skips := r.expected.Less(p) && (p == c.UNA || p.Less(c.UNA) && s.At.Sub(r.acked) <= c.Port.Wait())
	if (p == c.UNA || skips) && (r.asked && !r.single || t > 0 && s.At.Sub(r.left) >= t-timerEarly(t)) && c.GoBackPoint(p) == p {
		return false
	}
	return r.sent && (p == r.expected || skips)
}

// oldest reports whether a round begins with p: the oldest unacknowledged packet, one before it with backto0, or the request of
// the READ whose data, numbered apart, do not come.
func (r *rounds) oldest(p psn.PSN) bool {
	c := r.c
	if read, ok := c.Reads.Oldest(); ok && p == read {
		return true
	}
	return p == c.UNA || p.Less(c.UNA) && c.GoBackChunk() > 0
}

// progress notes an acknowledgement that restarts the timer.
func (r *rounds) progress(at vtime.Time) {
	if at.Sub(r.before) > 2*r.c.Port.Wait() {
		r.before = r.acked
	}
	r.acked = at
}

// restart returns when the timer that a round at now obeys was last restarted for certain. Progress that is younger than
// Port.Wait may have come after the timer expired.
func (r *rounds) restart(now vtime.Time) vtime.Time {
	switch {
	case now.Sub(r.acked) > r.c.Port.Wait():
		return max(r.begun, r.roused, r.acked)
	case r.roused > r.acked: // the timer may have expired before that progress, and this have been outstanding then
		return max(r.begun, r.before)
	}
	return max(r.begun, r.roused, r.before)
}

func (r *rounds) response(s *rule.Sight) {
	p := s.Pkt
	if !s.Intact() {
		return
	}
	r.reply, r.touched = s.At, s.At
	ack := p.Opcode == roce.Acknowledge
	_, next, _, reading := r.c.OldestRead()
	if _, awaited := r.c.Reads.Oldest(); awaited && ack && p.AETH.Syndrome.IsACK() && r.c.UNA == r.c.MAX && p.PSN == r.c.UNA.Prev() {
		// The answer to a READ that was asked for once more: its data wait at a peer that is alive.
		r.count, r.stuck, r.replies, r.own, r.alive = 0, 0, 0, 0, s.At
	}
	switch {
	case ack && !p.AETH.Syndrome.IsACK(), !ack && !p.Opcode.IsReadResponse() && p.Opcode != roce.AtomicAck,
		reading && next.LessEq(p.PSN) && (ack || p.PSN != next): // data of the READ are missing before it
		r.asked, r.askedAt, r.single = true, s.At, rule.Selective(p)
	}
}

// timerSlack is how much a timer may seem to run slow because packets wait between the engine and the tap.
func timerSlack(t vtime.Duration) vtime.Duration { return t/100 + 50*vtime.Microsecond }

// timerEarly is how much one may seem to run fast: the packet that it began with may have waited there for as long as a host may let
// it, and the retransmission not at all. Of a short timer that is a quarter, or there would be nothing to judge.
func timerEarly(t vtime.Duration) vtime.Duration { return max(timerSlack(t), min(rule.Drain, t/4)) }

// timerSlow is how many times its nominal value a timer may take (IBTA 9.7.6.1.3: between T_tr and 4 T_tr).
const timerSlow = 4

func timeoutInterval() rule.Rule {
	return rule.Rule{
		ID: "RC-TMO-001", Level: rule.Must,
		Title: "Without a response the retransmission begins between T_tr and 4 T_tr after the timer's last restart",
		Source: rule.Source{Ref: "IBTA 9.7.6.1.3, C9-139", Requirement: "The requester times out no sooner than the timeout interval T_tr and no later " +
			"than four times T_tr."},
		Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut | rule.ResponseIn, Stimulus: "all acknowledgements lost", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			r := rounds{c: c, una: c.Start}
			t := c.Attr.TransportTimer()
			if ownTimeouts(c) {
				t = 0
			}
			return rule.Check{Sight: func(s *rule.Sight) {
				begun, ok := r.sight(s)
				latest := s.At.Add(timerSlow*t + timerSlack(t) - begun.min) // to be wanted: then it may have to wait for the line
				switch {
				case !ok || !begun.byTimer || t == 0 || readApart(s.Pkt):
				case begun.max < t-timerEarly(t):
					c.Failf(rule.Requester, "%s is sent again after %v, T_tr is %v", c.Rel(s.Pkt.PSN), begun.max, t)
				case s.At > latest && c.Port.Busy(latest, s.At):
				case s.At > latest:
					c.Failf(rule.Requester, "%s is sent again only after %v, T_tr is %v", c.Rel(s.Pkt.PSN), begun.min, t)
				default:
					c.Met()
				}
			}}
		},
	}
}

// readApart reports a READ request whose responses are numbered apart. A scheme may give each of them a timer of its own: "If an RD
// request times out, it will be resubmitted" (FaSR IV-B).
func readApart(p *roce.Packet) bool { return p.Opcode.IsRead() && p.Opcode.Class() != roce.ClassRC }

// ownTimeouts reports a scheme that was given timeouts beside the transport timer; its family judges them.
func ownTimeouts(c *rule.Context) bool {
	return slices.ContainsFunc([]string{"rto_low", "rto_high", "rtt"}, func(name string) bool {
		_, given := c.Attr.Params[name]
		return given
	})
}

func timeoutRetries() rule.Rule {
	return rule.Rule{
		ID: "RC-TMO-002", Level: rule.Must,
		Title: "Without progress RETRY_EXC_ERR comes after retry_cnt rounds of retransmission; progress reloads the count",
		Source: rule.Source{Ref: "IBTA 9.9.2.1, 9.7.6.1.3", Requirement: "The retry counter is decremented for each retry and reloaded on progress; when " +
			"it is exhausted the request completes in error."},
		Needs: rule.TapRequester | rule.Attributes | rule.Done, Sees: rule.RequestOut | rule.ResponseIn, Stimulus: "a black hole", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			r := rounds{c: c, una: c.Start}
			limit := int(c.Attr.RetryCount)
			return rule.Check{
				Sight: func(s *rule.Sight) {
					if _, ok := r.sight(s); ok && r.count-r.replies-r.own > limit {
						c.Failf(rule.Requester, "round %d of retransmission, retry_cnt is %d", r.count, limit)
					}
				},
				Event: func(e *trace.Event) {
					r.expired = r.expired || e.Kind == trace.Timeout && c.Mine(e)
					if e.Kind != trace.CQE || !c.Mine(e) || e.Body.Status != engine.StatusRetryExceeded {
						return
					}
					// Progress that it has not heard of yet did not load the counter again. Whether a round that a NAK asked for counts
					// depends on what it acknowledged.
					if c.UNA != c.Start && e.At.Sub(max(r.reply, r.acked)) <= rule.Drain {
						return
					}
					if r.stuck < limit || r.count-r.replies-r.own > limit {
						c.Failf(rule.Requester, "wr=%d gives up after %d rounds, retry_cnt is %d", e.Body.ID, r.stuck, limit)
					} else {
						c.Met()
					}
				},
			}
		},
	}
}

func timerRestarts() rule.Rule {
	return rule.Rule{
		ID: "RC-TMO-003", Level: rule.Must,
		Title: "The timer restarts on each valid response while requests are outstanding, and stops when none is",
		Source: rule.Source{Ref: "IBTA 9.7.6.1.3", Requirement: "The timer is restarted when a response acknowledges outstanding requests, and stopped when no " +
			"request is outstanding."},
		Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut | rule.Arrivals, Stimulus: "acknowledged requests, and an idle QP", BlackBox: "ENG,RXE",
		New: func(c *rule.Context) rule.Check {
			switch {
			case !c.Offers(rule.Timers) && c.Offers(rule.Completions):
				return rule.Check{} // an endpoint that could report its timer, and was not asked to
			case !c.Offers(rule.Timers):
				return restartsSeen(c)
			}
			t := timerWatch{c: c, intake: rule.NewIntake(c), una: c.Start, newest: c.Start, deadline: vtime.Never, posted: vtime.Never}
			return rule.Check{Sight: t.sight, Event: t.event, End: t.end}
		},
	}
}

// restartsSeen judges by what a timer that nobody reports does: it must not expire sooner than T_tr after the acknowledgement that
// restarts it, and not at all when nothing is outstanding.
func restartsSeen(c *rule.Context) rule.Check {
	r := rounds{c: c, una: c.Start}
	t := c.Attr.TransportTimer()
	if ownTimeouts(c) {
		t = 0
	}
	return rule.Check{
		Sight: func(s *rule.Sight) {
			if !s.Point.AtRequester() {
				return
			}
			idle := c.UNA == c.MAX && c.Started && c.OutstandingReads() == 0
			begun, ok := r.sight(s)
			start := s.At.Add(-begun.max)
			acked := start > 0 && (start == r.acked || start == r.before)
			switch {
			case t == 0 || s.Point != trace.RequesterOut:
			case idle && s.Relation == rule.Again && !c.Relayed(s) && s.At.Sub(r.reply) > max(rule.Drain, t-timerSlack(t)):
				c.Failf(rule.Requester, "%s is sent again with nothing outstanding; silence expected", c.Rel(s.Pkt.PSN))
			case !ok || !begun.byTimer || !acked:
			case begun.max < t-timerSlack(t):
				c.Failf(rule.Requester, "%s is sent again %v after an acknowledgement, which did not restart the timer of %v", c.Rel(s.Pkt.PSN), begun.max, t)
			default:
				c.Met()
			}
		},
		End: func(at vtime.Time) {
			if t > 0 && r.sent && c.UNA == c.MAX && c.OutstandingReads() == 0 && at.Sub(r.reply) > timerSlow*t {
				c.Met()
			}
		},
	}
}

// timerWatch compares the reported timer with what the responses ask for, once the report has had time to come. It judges
// plain acknowledgements only: after a NAK or a timeout nothing is in flight until the retransmission leaves, and the
// timer may stand still until one is sent that expects a response.
type timerWatch struct {
	c        *rule.Context
	intake   rule.Intake
	una      psn.PSN
	reply    event // the latest response
	plain    bool  // it only acknowledges
	pending  int   // a retransmission was asked for: 2 until it begins, 1 until it expects a response, 0
	asked    bool  // a request that expects a response was sent,
	newest   psn.PSN
	due      bool  // a response moved UNA, and is to be judged
	shown    event // that response
	waiting  bool  // requests that expect a response were outstanding then
	idle     bool  // nothing was outstanding then, or has been sent since
	restart  bool  // a timer was set since
	deadline vtime.Time
	set      vtime.Time // when a timer was set last
	posted   vtime.Time // the latest request
	apart    bool       // there was a READ with a timer of its own: what is told is the earlier of two, or the READ's
}

func (t *timerWatch) sight(s *rule.Sight) {
	p := s.Pkt
	t.intake.Sight(s)
	if !s.Point.AtRequester() {
		return
	}
	if s.Point == trace.RequesterOut {
		t.settle(t.c.Began(s)) // it was no longer in the port since then, and the timer may have run for it
		t.idle, t.apart = false, t.apart || readApart(p)
		if t.pending == 2 && s.Relation == rule.Again && p.PSN.LessEq(t.c.UNA) { // not a packet of an older burst
			t.pending, t.asked = 1, false // what was asked before is asked again, or not awaited
		}
		if p.AckReq || p.Opcode.IsRead() || p.Opcode.IsAtomic() {
			if !t.asked {
				t.newest = p.PSN
			}
			t.asked, t.newest = true, psn.Max(p.PSN, t.newest)
			t.pending &^= 1
		}
		return
	}
	t.settle(s.At)
	if p.Opcode.NumberedApart() {
		return
	}
	_, next, _, reading := t.c.OldestRead()
	t.reply = seen(s)
	t.plain = p.Opcode == roce.Acknowledge && p.AETH.Syndrome.IsACK() && !reading ||
		p.Opcode.IsReadResponse() && reading && p.PSN == next
	if !t.plain {
		t.pending = 2
	}
}

// moved notes that the latest response has moved UNA, which shows after its sight.
func (t *timerWatch) moved() {
	c := t.c
	if c.UNA == t.una {
		return
	}
	t.una = c.UNA
	t.due = t.plain && t.pending == 0 && c.Attr.TransportTimer() != 0
	t.shown, t.restart = t.reply, false
	t.waiting, t.idle = t.asked && !t.newest.Less(c.UNA), c.UNA == c.MAX && c.OutstandingReads() == 0
}

// settle judges the latest response that moved UNA when the time for the report is over, and what the timer may have been set for
// since has left the port. An endpoint that has not taken all that has arrived may not have heard of it, and its timer may tell the
// turn of what waits.
func (t *timerWatch) settle(now vtime.Time) {
	t.moved()
	if !t.due || now.Sub(max(t.shown.at, t.set, t.intake.Free())) <= t.c.Port.Wait() || t.c.Failed || t.pending != 0 || t.apart {
		return
	}
	t.due = false
	off := t.deadline == vtime.Never
	switch {
	case t.idle && !off:
		t.fail("the timer goes on with nothing outstanding")
	case t.waiting && off && !t.restart:
		t.fail("no timer runs with requests outstanding")
	case t.waiting && !t.restart:
		t.fail("the timer is not restarted by this acknowledgement")
	case t.idle || t.waiting:
		t.c.Met()
	}
}

func (t *timerWatch) fail(text string) {
	t.c.FailAt(t.shown.at, t.shown.record, rule.Requester, text)
}

func (t *timerWatch) event(e *trace.Event) {
	if !t.c.Mine(e) {
		return
	}
	t.settle(e.At)
	switch e.Kind {
	case trace.Timer:
		t.deadline = e.Deadline
		if e.Deadline != vtime.Never {
			t.restart, t.set = true, e.At
		}
	case trace.Post:
		t.posted = e.At
	case trace.Timeout:
		t.pending = 2
		unheard := t.c.UNA != t.c.Start && e.At.Sub(max(t.reply.at, t.intake.Free())) <= rule.Drain
		unsent := t.posted != vtime.Never && e.At.Sub(t.posted) <= t.c.Port.Wait()
		if t.c.UNA == t.c.MAX && t.c.Started && t.c.OutstandingReads() == 0 && !unheard && !unsent && !t.apart {
			t.c.Fail(rule.Requester, "the timer expires with nothing outstanding; it has to be stopped")
		}
	}
}

func (t *timerWatch) end(at vtime.Time) { t.settle(at) }

func timerDisabled() rule.Rule {
	return rule.Rule{
		ID: "RC-TMO-004", Level: rule.Must,
		Title: "A timeout code of 0 turns the timer off: silence causes no retransmission",
		Source: rule.Source{Ref: "IBTA 9.7.6.1.3, 11.2.5.2", Requirement: "A local ACK timeout of zero means that the transport timer is " +
			"disabled."},
		Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut | rule.ResponseIn, Stimulus: "a black hole, with timeout code 0", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			r := rounds{c: c, una: c.Start}
			off := c.Attr.TransportTimer() == 0
			return rule.Check{
				Sight: func(s *rule.Sight) {
					if begun, ok := r.sight(s); ok && begun.byTimer && off {
						c.Failf(rule.Requester, "%s is sent again after %v, the timer is off; nothing expected before an answer", c.Rel(s.Pkt.PSN), begun.max)
					}
				},
				End: func(at vtime.Time) {
					if off && c.UNA != c.MAX && !c.Failed && at.Sub(r.touched) > rule.Patience {
						c.Met()
					}
				},
			}
		},
	}
}

func timerProfile() rule.Rule {
	return rule.Rule{
		ID: "RC-TMO-005", Level: rule.Should, Rests: validity.Path,
		Title: "T_tr is at least 1.5 times the round-trip time of the path; otherwise expect spurious timeouts",
		Source: rule.Source{Ref: "protocol profile; IBTA 9.7.6.1.3", Requirement: "A timer shorter than the round trip expires before any acknowledgement " +
			"can return, so every request is sent twice."},
		Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut | rule.ResponseIn,
		Stimulus: "an acknowledged request, which measures the round trip", BlackBox: "EMU",
		New: func(c *rule.Context) rule.Check {
			least := vtime.Duration(vtime.Never) // shortest round trip seen
			again := vtime.Time(-1)              // the latest retransmission
			return rule.Check{
				Sight: func(s *rule.Sight) {
					if s.Relation == rule.Again && s.Point == trace.RequesterOut {
						again = s.At
					}
					if s.Point == trace.RequesterOut {
						return
					}
					// A retransmitted request gives no sample: which copy was acknowledged is not known (Karn and Partridge 1987). Nor
					// does one that was outstanding then: its ACK may be the answer to the other.
					if t := c.Sent(s.Pkt.PSN); s.Intact() && !s.Pkt.Opcode.NumberedApart() && t != nil && t.Times == 1 && t.First > again &&
						s.Pkt.PSN.In(c.UNA, c.MAX) {
						least = min(least, s.At.Sub(t.First))
					}
				},
				End: func(vtime.Time) {
					t := c.Attr.TransportTimer()
					switch {
					case least == vtime.Duration(vtime.Never) || t == 0:
					case 2*t < 3*least:
						c.Failf(rule.Requester, "T_tr is %v, the round trip takes %v: spurious timeouts expected", t, least)
					default:
						c.Met()
					}
				},
			}
		},
	}
}
