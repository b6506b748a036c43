package irn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/selective"
	"github.com/rdma-gauntlet/gauntlet/conformance/timeout"
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
	data  vtime.Time // arrival of the latest READ data; Never before
	timer timeout.Timer
}

// newRequests returns a sender that judges some aspects of retransmissions.
func newRequests(c *rule.Context, wanted ...selective.Aspect) *requests {
	low, _ := duration(c, "rto_low")
	high, _ := duration(c, "rto_high")
	rtt, _ := duration(c, "rtt")
	r := &requests{Sender: selective.NewSender(c, rule.Requester, rule.Handed), c: c, data: vtime.Never,
		timer: timeout.NewTimer(c, low, high, rtt)}
	r.Limit = capOf(c)
	r.Judges(wanted...)
	return r
}

// retransmits makes a check of some aspects of retransmissions.
func retransmits(wanted ...selective.Aspect) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		r := newRequests(c, wanted...)
		return rule.Check{Sight: r.sight, Event: r.Event, End: r.End}
	}
}

func (r *requests) sight(s *rule.Sight) {
	una := r.UNA
	if r.follow(s); r.UNA != una {
		r.timer.Starts(r.UNA, s.At)
	}
}

// follow updates the sender by a packet, and judges it.
func (r *requests) follow(s *rule.Sight) {
	p := s.Pkt
	r.Begin()
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
		r.Heard(s, s.At, p.PSN, p.SACK.PSN)
	case acknowledges(p):
		r.Heard(s, s.At, p.PSN.Next(), p.PSN.Next())
	case p.Opcode == roce.Acknowledge && p.PSN.In(r.UNA, r.Next):
		r.Heard(s, s.At, p.PSN, p.PSN)
		r.Hush() // the receive is missing, or there is an error
	}
}

// expires takes a retransmission that nothing asked for, after long enough, for a sign that the timer has expired.
func (r *requests) expires(s *rule.Sight) {
	if r.UNA == r.Next {
		r.timer.Starts(r.UNA, s.At)
	}
	switch _, ok := r.timer.Expires(s, r.Sure(s.At)); {
	case !ok:
	case s.Pkt.PSN == r.UNA && r.Idle():
		r.Timeout(r.c.Began(s))
	default: // it is due as well, or an ACK was at the port and not processed yet, so that nothing shows the cause
		r.Hush()
	}
}

// late reports whether a READ may have waited in the port when its data arrived.
func (r *requests) late(s *rule.Sight) bool { return r.data != vtime.Never && r.c.InPort(s, r.data) }
