package irn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/selective"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

const (
	senderTap = rule.TapRequester | rule.Attributes
	timedTap  = senderTap | rule.Completions // for what only reports of timeouts show
	ofSender  = rule.RequestOut | rule.ResponseIn
)

// requests runs the reference sender over the requests.
type requests struct {
	*selective.Sender
	c     *rule.Context
	begun bool       // the first PSN is known
	data  vtime.Time // arrival of the latest READ data; Never before

	least      vtime.Duration // shortest timeout, of an end that does not report them; 0 when it does, or has none
	since, was vtime.Time     // latest start of the timer, by an advance of UNA or otherwise; the one before
}

// newRequests returns a sender that judges some aspects of retransmissions.
func newRequests(c *rule.Context, wanted ...selective.Aspect) *requests {
	r := &requests{Sender: selective.NewSender(c, rule.Requester, rule.Handed), c: c, data: vtime.Never}
	r.Limit = capOf(c)
	r.Judges(wanted...)
	if !c.Offers(rule.Completions) {
		r.least = leastTimeout(c)
	}
	return r
}

// leastTimeout returns the shortest timeout that the attributes allow; 0 when the timer is off.
func leastTimeout(c *rule.Context) (least vtime.Duration) {
	low, _ := duration(c, "rto_low")
	high, _ := duration(c, "rto_high")
	rtt, _ := duration(c, "rtt")
	for _, d := range []vtime.Duration{low, high, rtt, c.Attr.TransportTimer()} {
		if least == 0 || d > 0 && d < least {
			least = d
		}
	}
	return least
}

// retransmits makes a check of some aspects of retransmissions.
func retransmits(wanted ...selective.Aspect) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		r := newRequests(c, wanted...)
		return rule.Check{Sight: r.sight, Event: r.event, End: r.End}
	}
}

func (r *requests) sight(s *rule.Sight) {
	p := s.Pkt
	if !r.begun && r.c.Started {
		r.begun = true
		r.Start(r.c.Start)
	}
	switch {
	case p.Opcode.NumberedApart():
		if s.Point == trace.RequesterIn {
			r.data = s.At
		}
	case s.Point == trace.RequesterOut && isRead(p.Opcode) && p.PSN.Less(r.UNA) && (!r.c.Answered(p.PSN) || r.late(s)):
		r.Passes(s) // it asks for missing data, which the rules of READ responses judge
	case s.Point == trace.RequesterOut:
		r.expires(s)
		r.Leaves(s)
	case !s.Intact() || !r.c.Addressed(s):
	case p.Opcode == roce.IRNNack:
		r.heard(s, p.PSN, p.SACK.PSN)
	case acknowledges(p):
		r.heard(s, p.PSN.Next(), p.PSN.Next())
	case p.Opcode == roce.Acknowledge && p.PSN.In(r.UNA, r.Next):
		r.heard(s, p.PSN, p.PSN)
		r.Hush() // the receive is missing, or there is an error
	}
}

// expires takes a retransmission that nothing asked for, after long enough, for a sign that the timer has expired.
func (r *requests) expires(s *rule.Sight) {
	if r.UNA == r.Next {
		r.since = s.At
	}
	p, began := s.Pkt.PSN, r.since
	if p.Less(r.UNA) { // an ACK was at the port and not processed yet
		began = r.was
	}
	switch {
	case r.least == 0, !p.Less(r.Next), r.UNA.Less(p), s.At.Sub(began) < r.least-rule.TimerEarly(r.least):
	case p == r.UNA && r.Idle():
		r.Timeout(r.c.Began(s))
		r.since = s.At
	default: // it is due as well, so that nothing shows whether the timer has expired
		r.Hush()
		r.since = s.At
	}
}

// heard is Heard of a packet that arrives.
func (r *requests) heard(s *rule.Sight, cum, named psn.PSN) {
	una := r.UNA
	if r.Heard(s, s.At, cum, named); r.UNA != una {
		r.was, r.since = r.since, s.At
	}
}

// late reports whether a READ may have waited in the port when its data arrived.
func (r *requests) late(s *rule.Sight) bool { return r.data != vtime.Never && r.c.InPort(s, r.data) }

// event processes timeouts. A timeout of READ responses, which the same side may report, names another PSN.
func (r *requests) event(e *trace.Event) {
	switch {
	case e.Kind != trace.Timeout || !r.c.Mine(e) || r.UNA == r.Next:
	case e.Body.PSN != r.UNA:
		r.Hush() // an ACK was at the port and not processed yet, or the timer is that of READ responses
	default:
		r.Timeout(e.At)
	}
}
