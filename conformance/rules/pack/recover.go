package pack

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var lossAbsorbed = judged(rule.Rule{
	ID: "PACK-REC-001", Level: rule.Must,
	Title:    "After a loss on the WAN the box absorbs Remote's NAK and retransmits; Local sees nothing",
	Source:   rule.Source{Ref: ours, Requirement: "Local has an ACK of the request, so only the box can retransmit it"},
	Stimulus: "a request lost on the WAN", BlackBox: emulated,
}, func(p *path) check {
	l := losses{p: p, again: p.c.Owes(rule.Requester, "Remote misses %s, but the box never sent it again")}
	l.again.Promised, l.again.Unless = true, func(d rule.Debt) bool { return d.PSN.Less(p.una) }
	return check{sight: l.sight}
})

// losses tracks the NAK of a request until the request is retransmitted.
type losses struct {
	p     *path
	again *rule.Obligation
}

func (l *losses) sight(s *rule.Sight, w where) {
	p, x := l.p, s.Pkt.PSN
	switch {
	case w == fromRemote && rule.IsNAK(s.Pkt) && p.begun && x.In(p.una, p.max):
		p.c.Met()
		l.again.Excuse(nil)
		l.again.Arise(s, x)
	case w == toRemote:
		l.again.Excuse(func(d rule.Debt) bool { return x.LessEq(d.PSN) })
	case w == toLocal && rule.IsNAK(s.Pkt) && p.begun && !p.gap && x.In(p.first, p.exp) && !p.waited(s):
		p.c.Failf(rule.Responder, "NAK of %s, which the box has received; none expected for a loss on the WAN", p.c.Rel(x))
	}
}

var silenceRecovered = judged(rule.Rule{
	ID: "PACK-REC-002", Level: rule.Must,
	Title: "The box recovers from the loss of a NAK, an ACK or the last request on the WAN after wan_rto",
	Source: rule.Source{Ref: ours,
		Requirement: "When Remote is silent for wan_rto, the box sends the oldest request again"},
	Needs: rule.Probes, Stimulus: "the last request, or a NAK or ACK, lost on the WAN", BlackBox: emulated,
}, func(p *path) check {
	q := quiet{p: p}
	return check{sight: q.sight, event: q.event, end: q.end}
})

// quiet measures the silence of Remote while a request waits for its answer. An answer that acknowledges nothing new
// does not restart the timer: data of a READ behind a missing response continue until the READ ends.
type quiet struct {
	p     *path
	since vtime.Time // when the timer was last set: by progress of una, the first request out, or going back
	una   psn.PSN    // of path at the latest sight
	heard vtime.Time // arrival of the latest answer, which may be data that Remote replays before others
	last  vtime.Time // departure of the latest request
	waits bool       // a request has left
	cause bool       // an event other than silence lets the box go back
	asked vtime.Time // time of that event
	next  psn.PSN    // PSN after the latest request
	wait  vtime.Time // end of an RNR wait
}

func (q *quiet) sight(s *rule.Sight, w where) {
	p, rto := q.p, vtime.Duration(q.p.probe["wan_rto_ps"])
	q.progress()
	switch {
	case w == fromRemote && p.begun:
		if !rule.IsACK(s.Pkt) || p.skips(s.Pkt.PSN) {
			q.cause, q.asked = true, s.At
		}
		q.heard = s.At
		if rule.IsRNR(s.Pkt) {
			q.wait = s.At.Add(roce.RNRTimer(s.Pkt.AETH.Syndrome.Timer()).Duration())
		}
	case w == toRemote && p.begun && s.Pkt.PSN.Less(p.max) && p.held(s.Pkt.PSN).relays(s.At):
	case w == toRemote && p.begun:
		if !q.waits || p.una == p.max {
			q.since = p.c.Began(s)
		}
		q.back(s, rto)
		q.waits, q.next, q.last = true, s.Pkt.PSN.Next(), s.At
	}
}

// progress processes the acknowledgement of the latest answer, which the tracker shows after its sight.
func (q *quiet) progress() {
	if q.una != q.p.una {
		q.una, q.since = q.p.una, max(q.since, q.heard)
	}
}

// event judges a timeout at the time of its report: an answer may arrive before the retransmission leaves.
func (q *quiet) event(e *trace.Event) {
	rto := vtime.Duration(q.p.probe["wan_rto_ps"])
	if !q.p.ofBox(e) || e.Kind != trace.Count || e.Name != "wan_timeout" || rto == 0 || !q.waits {
		return
	}
	q.p.c.Met()
	q.progress()
	if silent := e.At.Sub(q.since); silent < rto-rule.TimerEarly(rto) {
		q.p.c.Failf(rule.Requester, "the box counts a timeout after a silence of %s; wan_rto is %s", silent, rto)
	}
	q.cause, q.asked, q.since = true, e.At, e.At
}

// back judges a retransmission. The box may go back because of an answer of Remote, or after silence.
func (q *quiet) back(s *rule.Sight, rto vtime.Duration) {
	x := s.Pkt.PSN
	if !q.waits || !x.Less(q.next) || x.Less(q.p.una) || rto == 0 {
		return
	}
	began := q.p.c.Began(s)
	if q.cause {
		q.cause = began < q.asked // it was already leaving, for an earlier cause
		return
	}
	q.p.c.Met()
	since := s.At.Sub(q.since)
	q.since = began
	if since < rto-rule.TimerEarly(rto) {
		q.p.c.Failf(rule.Requester, "%s leaves again after a silence of %s; wan_rto is %s", q.p.c.Rel(x), since, rto)
	}
}

func (q *quiet) end(at vtime.Time) {
	p := q.p
	rto := vtime.Duration(p.probe["wan_rto_ps"])
	if !q.waits || rto == 0 || p.fatal || p.spent() || p.probe[engine.BrokenPromise] > 0 || !p.una.Less(p.max) ||
		at < q.wait.Add(2*rto) {
		return
	}
	if last := p.find(p.max.Prev()); at.Sub(max(q.since, q.heard, q.last)) > 2*rto && last != nil &&
		last.packet.AckReq {
		p.c.Failf(rule.Requester, "Remote has been silent about %s for %s, but the box has retransmitted nothing",
			p.c.Rel(p.una), at.Sub(q.since).Short())
	}
}

var rnrAbsorbed = judged(rule.Rule{
	ID: "PACK-REC-003", Level: rule.Must,
	Title: "The box absorbs an RNR NAK and retries after the coded time",
	Source: rule.Source{Ref: "IBTA 9.7.5.2.8; " + ours,
		Requirement: "The requester waits for the time that the RNR NAK names and sends the request again"},
	Stimulus: "an RNR NAK of the far end", BlackBox: emulated,
}, func(p *path) check {
	var psnOf psn.PSN
	var until vtime.Time
	open := false
	return check{
		sight: func(s *rule.Sight, w where) {
			rnr := rule.IsRNR(s.Pkt)
			switch {
			case w == fromRemote && rnr && s.Pkt.PSN.In(p.una, p.max) && s.At >= until:
				p.c.Met()
				psnOf, open = s.Pkt.PSN, true
				until = s.At.Add(roce.RNRTimer(s.Pkt.AETH.Syndrome.Timer()).Duration())
			case w == toLocal && rnr:
				p.c.Failf(rule.Responder, "an RNR NAK of %s reaches Local; the box must absorb it", p.c.Rel(s.Pkt.PSN))
			case w == toRemote && open && s.Pkt.PSN == psnOf:
				if open = false; s.At < until {
					p.c.Failf(rule.Requester, "%s leaves again %s before the RNR timer is over", p.c.Rel(psnOf), until.Sub(s.At))
				}
			}
		},
		end: func(at vtime.Time) {
			if open && p.c.Late(rule.Requester, until, rule.Patience, at) && p.probe[engine.BrokenPromise] == 0 {
				p.c.Failf(rule.Requester, "%s was never sent again after its RNR NAK", p.c.Rel(psnOf))
			}
		},
	}
})

var brokenPromise = judged(rule.Rule{
	ID: "PACK-ERR-001", Level: rule.Must,
	Title: "After a fatal NAK of a request with a pseudo-ACK, broken_promise is counted, " +
		"Local's QP ends in error, and no later request succeeds",
	Source: rule.Source{Ref: ours,
		Requirement: "A promise that cannot be kept is counted, and fails what Local does next"},
	Stimulus: "a request that the far end refuses", BlackBox: emulated,
}, func(p *path) check {
	b := breach{p: p}
	return check{sight: b.sight, event: b.event, end: b.end}
})

// breach tracks the box after Remote has refused a request that Local has a pseudo-ACK of.
type breach struct {
	p       *path
	open    bool       // such a request was refused
	psn     psn.PSN    // of the request
	counted bool       // broken_promise was reported since
	failed  bool       // Local's next request was refused
	asked   bool       // Local has sent a later request
	record  uint64     // of the refusal
	at      vtime.Time // of the refusal
}

func (b *breach) sight(s *rule.Sight, w where) {
	p, x := b.p, s.Pkt.PSN
	switch {
	case w == fromRemote && rule.IsFatalNAK(s.Pkt) && p.begun && x.Less(p.acked) && !b.open:
		p.c.Met()
		b.open, b.psn, b.at, b.record, b.counted = true, x, s.At, s.Index, false
		b.asked = p.acked.Less(p.exp)
	case !b.open:
	case w == fromLocal && p.exp.LessEq(x):
		b.asked = true
	case w == toLocal && rule.IsFatalNAK(s.Pkt):
		b.failed = true
	case w == toLocal && rule.IsACK(s.Pkt) && p.acked.LessEq(x) && !p.c.PeerPort.Lags(b.at, s.At):
		p.c.Failf(rule.Responder, "ACK of %s, but Remote has refused %s", p.c.Rel(x), p.c.Rel(b.psn))
	}
}

func (b *breach) event(e *trace.Event) {
	if b.p.ofBox(e) && e.Kind == trace.Count && e.Name == engine.BrokenPromise {
		b.counted = true
	}
}

func (b *breach) end(at vtime.Time) {
	if !b.open || !b.p.c.Late(rule.Responder, b.at, rule.Patience, at) {
		return
	}
	if !b.counted {
		b.p.c.FailAt(b.at, b.record, rule.Responder, "Remote has refused "+b.p.c.Rel(b.psn)+
			", which was promised, but broken_promise is not counted")
	}
	if b.asked && !b.failed {
		b.p.c.FailAt(b.at, b.record, rule.Responder, "Remote has refused "+b.p.c.Rel(b.psn)+
			", which was promised, but Local's next request did not fail")
	}
}
