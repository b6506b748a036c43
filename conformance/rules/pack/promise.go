package pack

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// three is the sentence of the paper about the fields of a pseudo-ACK.
const three = "three parameters have to be accurately reproduced, i.e., packet sequence number (PSN), " +
	"destination QP number (dstQPN), and message sequence number (MSN)"

var psnReceived = judged(rule.Rule{
	ID: "PACK-PSN-001", Level: rule.Must,
	Title:    "The PSN of a pseudo-ACK is that of a request that the box has received in order",
	Source:   rule.Source{Ref: "NTT 5.2", Requirement: three},
	Stimulus: "requests through the box", BlackBox: anyNIC,
}, func(p *path) check {
	return check{sight: func(s *rule.Sight, w where) {
		if w != toLocal || !rule.IsACK(s.Pkt) {
			return
		}
		p.c.Met()
		if !p.begun || p.exp.LessEq(s.Pkt.PSN) {
			p.c.Failf(rule.Responder, "ACK of %s, which the box has not received in order", p.c.Rel(s.Pkt.PSN))
		}
	}}
})

var qpnOfLocal = judged(rule.Rule{
	ID: "PACK-QPN-001", Level: rule.Must, Rests: validity.Sequence,
	Title:    "DestQP is Local's QPN, as in the REQ of CM",
	Source:   rule.Source{Ref: "NTT 5.2", Requirement: three},
	Stimulus: "set-up by the communication manager", BlackBox: anyNIC,
}, func(p *path) check {
	return check{sight: func(s *rule.Sight, w where) {
		if w != toLocal || !p.cm.connected {
			return
		}
		p.c.Met()
		if s.Pkt.DestQP != p.cm.local {
			p.c.Failf(rule.Responder, "DestQP %#x, Local's QP is %#x by its set-up", s.Pkt.DestQP, p.cm.local)
		}
	}}
})

var msnAsReal = judged(rule.Rule{
	ID: "PACK-MSN-001", Level: rule.Must,
	Title:    "The MSN equals that of Remote's real ACK of the same PSN",
	Source:   rule.Source{Ref: "NTT 5.2", Requirement: three},
	Stimulus: "every operation and length", BlackBox: anyNIC,
}, func(p *path) check {
	return check{sight: func(s *rule.Sight, w where) {
		if w != fromRemote || !rule.IsACK(s.Pkt) {
			return
		}
		// An ACK whose MSN does not match its PSN is not compared: after a repeated READ a later MSN is right.
		r := p.find(s.Pkt.PSN)
		if r == nil || !r.hasACK || p.based && s.Pkt.AETH.MSN != p.base.Add(r.count) {
			return
		}
		p.c.Met()
		if got, want := r.ack.AETH.MSN, s.Pkt.AETH.MSN; got != want && !(want.Less(got) && got == r.floor) {
			p.c.Failf(rule.Responder, "the pseudo-ACK of %s had MSN %d, the real one has %d", p.c.Rel(s.Pkt.PSN), got, want)
		}
		r.hasACK = false
	}}
})

var sameAsReal = judged(rule.Rule{
	ID: "PACK-EQ-001", Level: rule.Must,
	Title:    "A pseudo-ACK equals the real ACK of the same PSN in BTH, AETH except credits, addresses and ports",
	Source:   rule.Source{Ref: "NTT 5.2", Requirement: "To emulate the original ACK message, " + three},
	Stimulus: "requests through the box", BlackBox: anyNIC,
}, func(p *path) check {
	return check{sight: func(s *rule.Sight, w where) {
		if w != fromRemote || !rule.IsACK(s.Pkt) {
			return
		}
		r := p.find(s.Pkt.PSN)
		if r == nil || !r.hasACK {
			return
		}
		p.c.Met()
		r.hasACK = false
		real, pseudo := s.Pkt.BTH, r.ack.BTH
		// the bits that routers mark
		real.FECN, real.BECN, pseudo.FECN, pseudo.BECN = false, false, false, false
		if real != pseudo || !r.ack.AETH.Syndrome.IsACK() {
			p.c.Failf(rule.Responder, "the BTH of the pseudo-ACK of %s is %+v; the real one has %+v",
				p.c.Rel(s.Pkt.PSN), pseudo, real)
		}
		if a := addressOf(s.Raw); a != r.address && a != (address{}) && r.address != (address{}) {
			p.c.Failf(rule.Responder,
				"the pseudo-ACK of %s goes from %v:%d to %v:%d, the real one from %v:%d to %v:%d",
				p.c.Rel(s.Pkt.PSN),
				r.address.src, r.address.sport, r.address.dst, r.address.dport, a.src, a.sport, a.dst, a.dport)
		}
	}}
})

var goodICRC = judged(rule.Rule{
	ID: "PACK-ICRC-001", Level: rule.Must, Rests: validity.Frames,
	Title: "The ICRC of a pseudo-ACK is valid",
	Source: rule.Source{Ref: "A17",
		Requirement: "Every RoCEv2 packet carries an invariant CRC over the fields that routers do not change"},
	Needs: rule.Bytes, Stimulus: "requests through the box", BlackBox: anyNIC,
}, func(p *path) check {
	return check{sight: func(s *rule.Sight, w where) {
		r := s.Rec
		if r.Conn != p.c.Index || r.From != trace.B || !s.Out || s.Pkt.Opcode != roce.Acknowledge ||
			s.ICRC == trace.Unchecked {
			return
		}
		p.c.Met()
		if s.ICRC == trace.Bad {
			p.c.Failf(rule.Responder, "the ICRC of the response to %s is wrong", p.c.Rel(s.Pkt.PSN))
		}
	}}
})

var withinLAN = judged(rule.Rule{
	ID: "PACK-LAT-001", Level: rule.Must,
	Title: "Local receives the ACK after the RTT of the LAN and the delay of the box, independent of the WAN",
	Source: rule.Source{Ref: "NTT 3, 5.1", Requirement: "another approach is needed such as accelerating the network " +
		"performance of RDMA for long-distance communication to quickly return an ACK message to reduce its waiting time"},
	Needs: rule.Probes, Stimulus: "any acknowledged request", BlackBox: emulated,
}, func(p *path) check {
	l := latency{p: p}
	return check{sight: l.sight, event: l.event}
})

// latency tracks whether the box could have acknowledged the requests that Local waits for.
type latency struct {
	p     *path
	since vtime.Time // the latest time when nothing could be promised: before set-up and first ACK, or during a READ
	full  bool       // since the latest promise the buffer was at some time over its cap
	until psn.PSN    // exp at that time
}

func (l *latency) event(e *trace.Event) {
	if l.p.ofBox(e) && e.Name == "buf_bytes" && l.p.told["buffer"] && e.Value > l.p.probe["buffer"] {
		l.full, l.until = true, l.p.exp
	}
}

func (l *latency) sight(s *rule.Sight, w where) {
	p := l.p
	switch {
	case w == toLocal && rule.IsACK(s.Pkt):
		p.c.Met()
	case w == fromRemote && rule.IsACK(s.Pkt):
		l.real(s)
	}
	if len(p.holds) > 0 || !p.based && !p.cm.connected {
		l.since = s.At
	}
}

// real judges a real ACK: it must acknowledge nothing that Local has no pseudo-ACK of.
func (l *latency) real(s *rule.Sight) {
	p, x := l.p, s.Pkt.PSN
	r := p.find(x)
	if !p.begun || r == nil || !r.packet.AckReq || x.Less(p.acked) || !x.In(p.una, p.max) {
		return
	}
	able := max(r.at, l.since)
	if l.full && x.Less(l.until) || p.eligible().LessEq(x) || !p.based && !p.cm.connected ||
		p.c.PeerPort.Lags(able, s.At) {
		return // it could not be promised, or there was no time
	}
	p.c.Failf(rule.Responder, "Remote has acknowledged %s, but Local, which sent it %s ago, has no pseudo-ACK",
		p.c.Rel(x), s.At.Sub(r.at))
}

var realAbsorbed = judged(rule.Rule{
	ID: "PACK-SUP-001", Level: rule.MustNot,
	Title:    "The real ACK of a PSN with a pseudo-ACK is not forwarded",
	Source:   rule.Source{Ref: ours, Requirement: "Local has its ACK; a second one is redundant"},
	Stimulus: "requests through the box", BlackBox: emulated,
}, func(p *path) check {
	due := 0 // duplicates of Local that may be answered again
	return check{sight: func(s *rule.Sight, w where) {
		switch {
		case w == fromLocal && p.begun && s.Pkt.PSN.Less(p.exp):
			due++
		case w == fromRemote && rule.IsACK(s.Pkt) && s.Pkt.PSN.Less(p.acked):
			p.c.Met()
		case w == toLocal && rule.IsACK(s.Pkt) && p.begun && s.Pkt.PSN.Less(p.acked):
			if due == 0 {
				p.c.Failf(rule.Responder, "ACK of %s, which Local has already got and not asked for again", p.c.Rel(s.Pkt.PSN))
			}
			due = max(0, due-1)
		}
	}}
})

var weakened = judged(rule.Rule{
	ID: "PACK-SEM-001", Level: rule.Observation,
	Title: "Completions at Local that precede placement at Remote are counted (semantic weakening)",
	Source: rule.Source{Ref: "NTT 5.1; " + ours,
		Requirement: "Local's completion says that the box has the data, not that Remote has"},
	Needs: rule.Completions, Stimulus: "requests through the box", BlackBox: emulated,
}, func(p *path) check {
	total, early := 0, 0
	return check{
		event: func(e *trace.Event) {
			if e.Kind != trace.CQE || e.Conn != p.c.Index || e.Body.Status != 0 {
				return
			}
			p.c.Met()
			total++
			if p.begun && p.una.LessEq(e.Body.PSN) {
				early++
			}
		},
		end: func(vtime.Time) {
			if early > 0 {
				p.c.Failf(rule.Responder, "%d of %d completions at Local came before Remote's acknowledgement", early, total)
			}
		},
	}
})
