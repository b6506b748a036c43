package ctr

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// restart is a retransmission that begins.
type restart struct {
	// a sequence NAK, or an answer beyond what a READ waits for, has arrived since the restart before
	asked bool
	waits bool           // an RNR NAK has arrived since then
	quiet vtime.Duration // how long the requester had sent nothing
	timer vtime.Duration // its transport timer; 0 when not known, or off
}

// byTimer counts restarts that only the transport timer explains, and perhaps the others: it may expire at the same
// time.
func byTimer(r restart) span {
	if r.asked || r.waits || r.timer == 0 || r.quiet < r.timer {
		return perhaps
	}
	return surely
}

// byAny counts all of them, and perhaps those at the end of an RNR wait.
func byAny(r restart) span {
	if r.waits {
		return perhaps
	}
	return surely
}

// byAdaption counts restarts that nothing asks for and for which it is too early for the transport timer.
func byAdaption(r restart) span {
	switch {
	case r.asked, r.waits:
		return never
	case r.timer == 0 || r.quiet >= r.timer:
		return perhaps
	}
	return surely
}

// progress is how far one requester is.
type progress struct {
	restart
	last      psn.PSN // of the latest request
	at        vtime.Time
	resending bool
}

// restarts counts the rounds of retransmission that the device begins, by their possible causes.
func restarts(of func(restart) span) func() func(*rule.Sight) span {
	return func() func(*rule.Sight) span {
		all := map[*rule.Conversation]*progress{}
		return func(s *rule.Sight) span {
			p := all[s.Of]
			if p == nil {
				p = &progress{}
				all[s.Of] = p
			}
			switch s.Point {
			case trace.RequesterIn:
				p.hear(s)
			case trace.RequesterOut:
				return p.send(s, of)
			}
			return never
		}
	}
}

// hear notes a NAK, or an answer beyond a gap, that asks for a retransmission.
func (p *progress) hear(s *rule.Sight) {
	switch {
	case s.Pkt.Opcode == roce.Acknowledge && s.Pkt.AETH.Syndrome.IsRNR():
		p.waits = true
	case s.Pkt.Opcode == roce.Acknowledge && isSequenceNAK(s.Pkt.AETH.Syndrome), beyondRead(s):
		p.asked = true
	}
}

// send takes a request that leaves.
func (p *progress) send(s *rule.Sight, of func(restart) span) (n span) {
	again := s.Relation == rule.Again
	if again && (!p.resending || s.Pkt.PSN.LessEq(p.last)) {
		p.quiet, p.timer = s.At.Sub(p.at), 0
		if s.Of.Known && s.Of.Attr.Timeout > 0 {
			p.timer = s.Of.Attr.Timeout.Duration()
		}
		n = of(p.restart)
		p.restart = restart{}
	}
	p.last, p.at, p.resending = s.Pkt.PSN, s.At, again
	return n
}
