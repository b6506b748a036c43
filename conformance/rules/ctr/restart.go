package ctr

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// restart is the beginning of a retransmission.
type restart struct {
	// a sequence NAK, or a response beyond the one that a READ waits for, arrived since the previous restart
	asked bool
	waits bool           // an RNR NAK arrived since then
	quiet vtime.Duration // time since the requester's latest request
	timer vtime.Duration // its transport timer; 0 when unknown or off
}

// byTimer counts restarts that only the transport timer explains. The others count perhaps, because the timer may
// expire at the same time.
func byTimer(r restart) span {
	if r.asked || r.waits || r.timer == 0 || r.quiet < r.timer {
		return perhaps
	}
	return surely
}

// byAny counts every restart, and perhaps those at the end of an RNR wait.
func byAny(r restart) span {
	if r.waits {
		return perhaps
	}
	return surely
}

// byAdaption counts restarts that no response asks for and that come too early for the transport timer.
func byAdaption(r restart) span {
	switch {
	case r.asked, r.waits:
		return never
	case r.timer == 0 || r.quiet >= r.timer:
		return perhaps
	}
	return surely
}

// progress is the state of one requester.
type progress struct {
	restart
	last      psn.PSN    // PSN of the latest request
	at        vtime.Time // of the latest request
	resending bool       // it was a retransmission
}

// restarts counts the rounds of retransmission that the device begins; of maps a restart to its span.
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

// hear records a NAK, or a response beyond a gap, that asks for a retransmission.
func (p *progress) hear(s *rule.Sight) {
	switch {
	case s.Pkt.Opcode == roce.Acknowledge && s.Pkt.AETH.Syndrome.IsRNR():
		p.waits = true
	case s.Pkt.Opcode == roce.Acknowledge && isSequenceNAK(s.Pkt.AETH.Syndrome), beyondRead(s):
		p.asked = true
	}
}

// send processes a request that leaves.
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

var timeoutsCounted = moved(rule.Rule{
	ID: "CTR-TMO-001", Level: rule.Must, Rests: validity.Reaction,
	Title: "Expiries of the transport timer are counted",
	Source: rule.Source{Ref: mlx5, Requirement: "local_ack_timeout_err: times that the timer of a queue pair " +
		"expired at the sender, the retries not exceeded."},
	Stimulus: "a black hole of some timeouts", BlackBox: nics,
}, counter{name: "hw/local_ack_timeout_err", doc: mlx5, says: "times that the timer of a queue pair expired",
	start: restarts(byTimer)})

var restartsCounted = moved(rule.Rule{
	ID: "CTR-RTX-001", Level: rule.Observation, Title: "Restarts of the requester beside what it counts as such",
	Source:   rule.Source{Ref: softRoCE, Requirement: "completer_retry_err: times that the completer decided to retry."},
	Stimulus: "a request or an answer is lost", BlackBox: both,
}, counter{name: "hw/completer_retry_err", doc: softRoCE, says: "times that the completer decided to retry",
	start: restarts(byAny)})

var adaptiveCounted = moved(rule.Rule{
	ID: "CTR-ADP-001", Level: rule.Observation, Rests: validity.Reaction,
	Title:    "Adaptive retransmissions beside those that come before the transport timer could expire",
	Source:   rule.Source{Ref: mlx5, Requirement: "roce_adp_retrans: adaptive retransmissions for RoCE traffic."},
	Stimulus: "acknowledgements are lost", BlackBox: nics,
}, counter{name: "hw/roce_adp_retrans", doc: mlx5, says: "adaptive retransmissions", start: restarts(byAdaption)})
