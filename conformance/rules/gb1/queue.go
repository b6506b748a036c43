package gb1

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// model is the queue of retransmissions that a requester has to have, from the RACKs that reached it: Algorithm 1 with
// the floor where it belongs. A timeout, an RNR NAK or missing READ data make go-back-N's rules hold, and void it until
// everything that was in flight is acknowledged. With rto=one a timeout puts the oldest packet first, and no more.
type model struct {
	c    *rule.Context
	one  bool    // the requester was told rto=one
	crt  psn.PSN // newest PSN that a RACK has named
	una  psn.PSN
	list []wanted // retransmissions due, in the order of the queue

	void  bool       // go-back-N is at work,
	until psn.PSN    // up to here
	stale bool       // the latest RACK named nothing new
	heard rule.Heard // UNA, as the requester knows it
	reply vtime.Time // the latest response
}

// wanted is one packet that is to be sent again.
type wanted struct {
	psn   psn.PSN
	since vtime.Time // when the RACK came
	head  bool       // it was the oldest unacknowledged one then
}

// wantedLimit bounds the list; a requester that owes more is not followed.
const wantedLimit = 1 << 16

func newModel(c *rule.Context) *model {
	return &model{c: c, one: c.Attr.Params["rto"] == "one", crt: c.Start.Prev(), una: c.Start,
		heard: rule.HeardOf(c.Start)}
}

// response takes a response that arrives, and reports whether it is a RACK that the model believes.
func (m *model) response(s *rule.Sight) bool {
	p := s.Pkt
	if !s.Intact() {
		return false
	}
	m.settle()
	m.reply = s.At
	switch {
	case isRACK(p):
		return m.rack(s)
	case rule.IsRNR(p), p.Opcode.IsReadResponse(), m.c.OutstandingReads() > 0:
		m.goBack()
	}
	return false
}

// settle forgets the packets that have been acknowledged, which the tracker shows after the acknowledgement's sight.
func (m *model) settle() {
	c := m.c
	if c.UNA == m.una {
		return
	}
	m.una = c.UNA
	m.heard.Moved(c.UNA, m.reply)
	m.crt = psn.Max(m.crt, c.UNA.Prev())
	for len(m.list) > 0 && m.list[0].psn.Less(c.UNA) {
		m.list = m.list[1:]
	}
	m.void = m.void && c.UNA.Less(m.until)
}

// settled returns what the requester knows to be acknowledged: all packets before it have left the port, if they ever
// do.
func (m *model) settled(now vtime.Time) psn.PSN { return m.heard.Sure(m.c.Port, now) }

// goBack voids the model.
func (m *model) goBack() { m.void, m.until, m.list, m.stale = true, m.c.MAX, nil, false }

// rack is Algorithm 1, lines 29 to 47.
func (m *model) rack(s *rule.Sight) bool {
	c, e, seq := m.c, s.Pkt.PSN, s.Pkt.SACK.PSN
	if !seq.In(c.UNA, c.MAX) || !e.Less(seq) {
		return false
	}
	floor := psn.Max(c.UNA, e)
	crt := psn.Max(m.crt, floor.Prev())
	if m.void {
		m.until = psn.Max(m.until, seq) // what it makes be queued is not followed
	}
	m.stale = seq.LessEq(crt)
	if m.stale {
		return true
	}
	m.crt = m.lastOf(seq)
	for p := crt.Next(); p.Less(seq) && !m.void && len(m.list) < wantedLimit; p = p.Next() {
		if t := c.Sent(p); t != nil && t.Times > 0 { // not a PSN inside a READ
			m.list = append(m.list, wanted{p, s.At, p == floor})
		}
	}
	return true
}

// sent takes a request that leaves, and returns the entry that it serves.
func (m *model) sent(s *rule.Sight) (w wanted, ok bool) {
	m.settle()
	for i := range m.list {
		if m.list[i].psn == s.Pkt.PSN && s.Relation == rule.Again {
			w = m.list[i]
			m.list = append(m.list[:i], m.list[i+1:]...)
			return w, true
		}
	}
	return wanted{}, false
}

// lastOf returns the last PSN of the request that begins at p: that of its last response for a READ.
func (m *model) lastOf(p psn.PSN) psn.PSN {
	if t := m.c.Sent(p); t != nil && t.Opcode.IsRead() {
		return p.Add(max(1, m.c.Packets(uint32(t.Len))) - 1)
	}
	return p
}

// event takes an event of the requester: a timeout.
func (m *model) event(e *trace.Event) {
	if e.Kind != trace.Timeout || !m.c.Mine(e) {
		return
	}
	if m.settle(); !m.one || m.void {
		m.goBack()
		return
	}
	if len(m.list) == 0 || m.list[0].psn != m.c.UNA {
		m.list = slices.Insert(m.list, 0, wanted{psn: m.c.UNA, since: e.At})
	}
	m.crt = psn.Max(m.crt, m.lastOf(m.c.UNA))
}

// covers reports whether a RACK has already asked for p.
func (m *model) covers(p psn.PSN) bool { return p.LessEq(m.crt) }
