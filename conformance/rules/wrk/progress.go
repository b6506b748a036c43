package wrk

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var makesProgress = rule.Rule{
	ID: "WRK-PROG-001", Level: rule.Must,
	Title: "An endpoint with work left makes progress within its retry limits, or reports failure",
	Source: rule.Source{Ref: ours, Requirement: "A request is answered, sent again, or given up: the " +
		"transport timer expires a limited number of times."},
	Needs:    rule.TapRequester | rule.Attributes | rule.Completions,
	Sees:     rule.Requests | rule.Responses | rule.ReadAcks | rule.RepairOut | rule.RepairIn,
	Stimulus: "requests of which nothing is heard until the transport timer expires", BlackBox: telling,
	Without: rule.HasBox, // it may answer for a peer that never does
	New: func(c *rule.Context) rule.Check {
		p := progress{c: c, causes: causes{c: c}}
		return rule.Check{Sight: p.sight, Event: p.event, End: p.end}
	},
}

// progress measures the silence of a requester with work outstanding.
type progress struct {
	c      *rule.Context
	causes causes
	open   open
	last   vtime.Time // when the requester last sent, received or completed something
}

// patience returns for how long a requester with requests outstanding may neither send nor complete anything: four
// times the timer (IBTA 9.7.6.1.3), doubled for schemes whose timeouts grow.
func (p *progress) patience() vtime.Duration {
	a := p.c.Attr
	timer := a.TransportTimer()
	for _, value := range a.Params { // a scheme may have a longer timer
		if d, err := vtime.ParseDuration(value); err == nil {
			timer = max(timer, d)
		}
	}
	return 8*timer + 4*a.Path.RTT + p.c.Port.Turn + rule.Patience
}

func (p *progress) sight(s *rule.Sight) {
	if s.Point == trace.RequesterIn || s.Point == trace.ResponderOut {
		p.causes.sight(s)
	}
	if s.Point.AtRequester() {
		p.alive(s.At)
	}
}

// alive records that the requester sent, received or completed something.
func (p *progress) alive(at vtime.Time) {
	p.judge(at)
	p.last = at
}

// judge judges the silence that ends at at.
func (p *progress) judge(at vtime.Time) {
	silent, timer := at.Sub(p.last), p.c.Attr.TransportTimer()
	if timer == 0 || silent < timer/2 { // the timer starts when a packet is ready to leave or is answered
		return
	}
	n, oldest := p.open.owed()
	if n == 0 || p.causes.any() || p.open.full {
		return
	}
	p.c.Met()
	// The requester may have spent its turns on responses.
	if silent > p.patience() && p.c.Late(rule.Requester, p.last, p.patience(), at) {
		p.c.Failf(rule.Requester, "%d requests are outstanding, the oldest wr=%d, and the endpoint has neither sent "+
			"nor completed anything for %s", n, oldest, silent.Short())
	}
}

func (p *progress) event(e *trace.Event) {
	if !p.c.Mine(e) {
		return
	}
	p.causes.event(e)
	switch e.Kind {
	case trace.Post:
		p.alive(e.At)
		p.open.post(e.Body.ID, false)
	case trace.CQE:
		p.alive(e.At)
		p.open.complete(e.Body.ID, true)
	}
}

func (p *progress) end(at vtime.Time) { p.judge(at) }

var keepsRate = rule.Rule{
	ID: "WRK-RATE-001", Level: rule.Should,
	Title:  "An endpoint that is configured with a rate does not exceed it over one bandwidth-delay product",
	Source: rule.Source{Ref: ours, Requirement: "rate_bps: send no faster."},
	Needs:  rule.Assigned | rule.Attributes, Sees: rule.Emitted | rule.RepairOut,
	Stimulus: "traffic of an endpoint that is configured with a rate", BlackBox: telling,
	New: func(c *rule.Context) rule.Check {
		return rule.Check{Sight: func(s *rule.Sight) { bucketOf(c, s).send(c, s) }}
	},
}

// bucketKey identifies the bucket that the checks of a port share.
type bucketKey struct{}

// bucket holds the bytes that a side has sent beyond its rate.
type bucket struct {
	rate  unit.Rate
	depth float64    // bytes that the side may be ahead
	level float64    // bytes ahead of the rate
	last  vtime.Time // of the latest packet
	told  bool       // the excess was reported
	since uint64     // bytes since the latest verdict
}

// burst is how far ahead of its rate an endpoint may be however short the path is: a scheduling slot of its host.
const burst = rule.Drain

// bucketOf returns the bucket of the side that sent s.
func bucketOf(c *rule.Context, s *rule.Sight) *bucket {
	port, side := c.Port, c.Req
	if !s.Point.AtRequester() {
		port, side = c.PeerPort, c.Req.Other()
	}
	return port.Shared(bucketKey{}, func() any {
		rate := c.RateOf(side)
		window := max(c.Attr.Path.RTT, burst)
		return &bucket{rate: rate, depth: float64(rate) / 8 * float64(window) / float64(vtime.Second)}
	}).(*bucket)
}

// send adds a packet that leaves, and judges the level.
func (b *bucket) send(c *rule.Context, s *rule.Sight) {
	if b.rate == 0 || s.Rec.Fate == trace.Injected {
		return
	}
	if b.last != 0 {
		b.level = max(0, b.level-float64(b.rate)/8*float64(s.At.Sub(b.last))/float64(vtime.Second))
	}
	b.last = s.At
	b.level += float64(s.Rec.WireBytes)
	b.since += uint64(s.Rec.WireBytes)
	switch who := rule.Requester; {
	case b.level > b.depth && !b.told:
		if !s.Point.AtRequester() {
			who = rule.Responder
		}
		b.told = true
		c.Failf(who, "the endpoint is %.0f bytes ahead of %v, more than %.0f", b.level, b.rate, b.depth)
	case float64(b.since) > b.depth:
		b.since = 0
		c.Met()
	}
}
