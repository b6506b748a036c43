package pack

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

var requestsPass = judged(rule.Rule{
	ID: "PACK-TRN-001", Level: rule.Must,
	Title: "Requests are forwarded unchanged and in order",
	Source: rule.Source{Ref: "NTT 5.1",
		Requirement: "Our RDMA WAN accelerator transparently works and monitors RDMA messages"},
	Stimulus: "requests through the box", BlackBox: anyNIC,
}, func(p *path) check {
	return check{sight: func(s *rule.Sight, w where) {
		if w != toRemote || !p.begun {
			return
		}
		x := s.Pkt.PSN
		r := p.find(x)
		switch {
		case s.Pkt.Opcode.IsRead() && p.held(x) != nil && p.held(x).first != x:
			return // the rest of a READ is requested again
		case p.max.Less(x):
			p.c.Failf(rule.Requester, "%s leaves for Remote; %s expected first", p.c.Rel(x), p.c.Rel(p.max))
		case r == nil && p.una.LessEq(x):
			p.c.Failf(rule.Requester, "%s leaves for Remote, but Local has not sent it", p.c.Rel(x))
		case r != nil && r.asked:
			p.c.Met()
			if d := differs(r, s); d != "" {
				p.c.Failf(rule.Requester, "%s leaves with another %s than Local sent", p.c.Rel(x), d)
			}
		}
	}}
})

// differs returns the field of a request that differs from Local's; "" when there is none.
func differs(r *request, s *rule.Sight) string {
	a, b := &r.packet, s.Pkt
	switch {
	case a.Opcode != b.Opcode:
		return "opcode"
	case a.BTH != b.BTH && !marked(a.BTH, b.BTH):
		return "BTH"
	case a.RETH != b.RETH || a.Atomic != b.Atomic || a.Imm != b.Imm || a.InvKey != b.InvKey:
		return "extended header"
	case a.Len != b.Len || r.sum != s.Sum:
		return "payload"
	}
	return ""
}

// marked reports whether headers differ only in the bits that routers and congestion control may set.
func marked(a, b roce.BTH) bool {
	a.FECN, a.BECN, b.FECN, b.BECN = false, false, false, false
	return a == b
}

var bothLegal = judged(rule.Rule{
	ID: "PACK-TRN-002", Level: rule.Must,
	Title: "Local and Remote each see a legal RC trace, so that all RC rules hold on both sides",
	Source: rule.Source{Ref: "NTT 5.1", Requirement: "Our RDMA WAN accelerator transparently works and monitors " +
		"RDMA messages, which are exchanged between Local and Remote"},
	Stimulus: "every operation and length", BlackBox: anyNIC,
}, func(p *path) check {
	l := legality{p: p}
	return check{sight: l.sight}
})

// legality tracks the order that each end relies on: acknowledgements and MSNs never decrease, and messages run from
// FIRST to LAST. The rules of RC judge the rest of a legal trace on each hop.
type legality struct {
	p      *path
	ack    psn.PSN // newest acknowledged to Local
	msn    psn.MSN // of the latest ACK
	acked  bool    // ack and msn are set
	inside bool    // the latest new request did not end its message
	fresh  psn.PSN // PSN after the latest new request
	any    bool    // fresh is set
}

func (l *legality) sight(s *rule.Sight, w where) {
	c, x := l.p.c, s.Pkt.PSN
	switch {
	case w == setUp && !s.Out && isREP(s.Pkt):
		*l = legality{p: l.p}
	case w == toLocal && rule.IsACK(s.Pkt):
		c.Met()
		if l.acked && x.Less(l.ack) {
			c.Failf(rule.Responder, "ACK of %s after one of %s; never an earlier one expected", c.Rel(x), c.Rel(l.ack))
		}
		if l.acked && s.Pkt.AETH.MSN.Less(l.msn) {
			c.Failf(rule.Responder, "MSN %d after %d; never a lower one expected", s.Pkt.AETH.MSN, l.msn)
		}
		if !l.acked || l.ack.Less(x) {
			l.ack = x
		}
		l.msn, l.acked = s.Pkt.AETH.MSN, true
	case w == toRemote && (!l.any || l.fresh.LessEq(x)):
		o := s.Pkt.Opcode
		if l.any && o.StartsMessage() == l.inside {
			c.Failf(rule.Requester, "%v at %s is at the wrong place in its message", o, c.Rel(x))
		}
		l.inside, l.fresh, l.any = !o.EndsMessage(), x.Next(), true
	}
}

var readPasses = judged(rule.Rule{
	ID: "PACK-READ-003", Level: rule.Must,
	Title:    "READ responses and atomic ACKs pass unchanged",
	Source:   rule.Source{Ref: ours, Requirement: "Only Remote has these data"},
	Stimulus: "every operation and length", BlackBox: emulated,
}, func(p *path) check {
	return check{sight: func(s *rule.Sight, w where) {
		o := s.Pkt.Opcode
		if w != toLocal || !o.IsReadResponse() && o != roce.AtomicAck {
			return
		}
		r := p.find(s.Pkt.PSN)
		if r == nil || len(r.data) == 0 {
			if p.begun && p.una.LessEq(s.Pkt.PSN) {
				p.c.Failf(rule.Responder, "data for %s, which Remote has not sent", p.c.Rel(s.Pkt.PSN))
			}
			return
		}
		p.c.Met()
		if h := p.held(s.Pkt.PSN); h != nil && h.overtakes(p, s.Pkt.PSN) {
			p.c.Failf(rule.Responder, "the data for %s leave, but not those for %s, which arrived before",
				p.c.Rel(s.Pkt.PSN), p.c.Rel(h.next))
		}
		got := answerOf(s)
		again := p.held(s.Pkt.PSN) != nil || r.asked && (o == roce.ReadRespFirst || o == roce.ReadRespOnly)
		switch {
		case !p.passed(r, s.At, got.same):
			p.c.Failf(rule.Responder, "the data for %s differ from Remote's", p.c.Rel(s.Pkt.PSN))
		case !p.passed(r, s.At, func(a *answer) bool {
			// The rest of a READ that the box or Local requests again has the opcodes of a READ of its own.
			return got.same(a) && (o == a.opcode || again && a.opcode.EndsMessage() == o.EndsMessage())
		}):
			p.c.Failf(rule.Responder, "%v for %s; Remote sent %v", o, p.c.Rel(s.Pkt.PSN), r.data[len(r.data)-1].opcode)
		case !p.passed(r, s.At, func(a *answer) bool { return got.same(a) && (o != a.opcode || got.aeth == a.aeth) }):
			p.c.Failf(rule.Responder, "the AETH of %v %s differs from Remote's", o, p.c.Rel(s.Pkt.PSN))
		}
	}}
})
