package gb1

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/timeout"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// model is the retransmission queue that a requester must have after the RACKs that reached it: Algorithm 1 with its
// floor repaired. After a timeout, an RNR NAK or missing READ data the rules of go-back-N hold, and the model is void
// until everything in flight then is acknowledged. With rto=one a timeout only puts the oldest packet first.
type model struct {
	expired func(at vtime.Time) // called at a timeout, at its earliest time, before the model changes; may be nil

	c    *rule.Context
	one  bool     // the requester is configured with rto=one
	crt  psn.PSN  // newest PSN that a RACK has named, or UNA-1
	una  psn.PSN  // UNA at the latest sight
	list []wanted // retransmissions due, in queue order

	void  bool    // go-back-N is in force
	until psn.PSN // PSN at which it ends
	stale bool    // the latest RACK named no newer packet
	clock *timeout.Clock
}

// wanted is a packet that must be sent again.
type wanted struct {
	psn   psn.PSN
	since vtime.Time // arrival of the RACK
	head  bool       // it was the oldest unacknowledged packet then
}

// wantedLimit bounds the list; further retransmissions are not tracked.
const wantedLimit = 1 << 16

func newModel(c *rule.Context) *model {
	return &model{c: c, one: c.Attr.Params["rto"] == "one", crt: c.Start.Prev(), una: c.Start,
		clock: timeout.NewClock(c)}
}

// response processes a response that arrives, and reports whether it is a valid RACK.
func (m *model) response(s *rule.Sight) bool {
	p := s.Pkt
	if !s.Intact() {
		return false
	}
	m.settle()
	m.clock.Sight(s)
	switch {
	case isRACK(p):
		return m.rack(s)
	case rule.IsRNR(p), p.Opcode.IsReadResponse(), m.c.OutstandingReads() > 0:
		m.goBack()
	}
	return false
}

// settle removes acknowledged packets, which the tracker shows after the acknowledgement's sight.
func (m *model) settle() {
	c := m.c
	if c.UNA == m.una {
		return
	}
	m.una = c.UNA
	m.crt = psn.Max(m.crt, c.UNA.Prev())
	for len(m.list) > 0 && m.list[0].psn.Less(c.UNA) {
		m.list = m.list[1:]
	}
	m.void = m.void && c.UNA.Less(m.until)
}

// settled returns the PSN up to which the requester knows packets to be acknowledged and none is left in its port.
func (m *model) settled(now vtime.Time) psn.PSN { return m.clock.Sure(now) }

// goBack voids the model.
func (m *model) goBack() { m.void, m.until, m.list, m.stale = true, m.c.MAX, nil, false }

// rack is Algorithm 1, lines 29 to 47.
func (m *model) rack(s *rule.Sight) bool {
	c, e, seq := m.c, s.Pkt.PSN, s.Pkt.SACK.PSN
	if !seq.In(c.UNA, c.MAX) {
		return false
	}
	if !e.Less(seq) { // no gap leads to it: what a requester makes of it is open
		m.goBack()
		return false
	}
	floor := psn.Max(c.UNA, e)
	crt := psn.Max(m.crt, floor.Prev())
	if m.void {
		m.until = psn.Max(m.until, seq) // retransmissions that it queues are not tracked
	}
	m.stale = seq.LessEq(crt)
	if m.stale {
		return true
	}
	m.crt = m.lastOf(seq)
	for p := crt.Next(); p.Less(seq) && !m.void && len(m.list) < wantedLimit; p = p.Next() {
		if t := c.Sent(p); t != nil && t.Times > 0 { // false for a PSN inside a READ
			m.list = append(m.list, wanted{p, s.At, p == floor})
		}
	}
	return true
}

// sent removes and returns the entry that a request serves.
func (m *model) sent(s *rule.Sight) (w wanted, ok bool) {
	m.settle()
	m.expires(s)
	for i := range m.list {
		if m.list[i].psn == s.Pkt.PSN && s.Relation == rule.Again {
			w = m.list[i]
			m.list = append(m.list[:i], m.list[i+1:]...)
			return w, true
		}
	}
	return wanted{}, false
}

// lastOf returns the last PSN of the request that begins at p; for a READ that of its last response.
func (m *model) lastOf(p psn.PSN) psn.PSN {
	if t := m.c.Sent(p); t != nil && t.Opcode.IsRead() {
		return p.Add(max(1, m.c.Packets(uint32(t.Len))) - 1)
	}
	return p
}

// event processes a timeout that the requester reports.
func (m *model) event(e *trace.Event) {
	if e.Kind == trace.Timeout && m.c.Mine(e) {
		m.settle()
		m.timeout(e.At)
	}
}

// expires takes a retransmission that no RACK asked for in time, after long enough, for a sign that the timer has
// expired.
func (m *model) expires(s *rule.Sight) {
	m.clock.Sight(s)
	switch at, ok := m.clock.Expires(s); {
	case !ok:
	case s.Pkt.PSN == m.una && !m.void && !m.asked(s):
		m.timeout(at)
	default: // nothing shows the cause: an ACK was in the port, or it is asked for as well
		m.goBack()
	}
}

// asked reports whether a RACK may have asked for a retransmission.
func (m *model) asked(s *rule.Sight) bool {
	i := slices.IndexFunc(m.list, func(w wanted) bool { return w.psn == s.Pkt.PSN })
	return i >= 0 && !m.c.Late(rule.Requester, m.list[i].since, rule.Patience, s.At)
}

// timeout is a timeout of the requester.
func (m *model) timeout(at vtime.Time) {
	if m.expired != nil {
		m.expired(at)
	}
	if !m.one || m.void {
		m.goBack()
		return
	}
	if len(m.list) == 0 || m.list[0].psn != m.c.UNA {
		m.list = slices.Insert(m.list, 0, wanted{psn: m.c.UNA, since: at})
	}
	m.crt = psn.Max(m.crt, m.lastOf(m.c.UNA))
}

// covers reports whether a RACK has asked for p.
func (m *model) covers(p psn.PSN) bool { return p.LessEq(m.crt) }
