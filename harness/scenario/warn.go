package scenario

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Warnings lists legal settings that will probably disappoint, one line each, with a value that would suffice.
func (s *Spec) Warnings() []string {
	var out []string
	for _, d := range s.links() {
		need := d.link.BDPPackets(s.RTT(), s.QP[0].MTU+roce.Overhead)
		if d.link.Rate > 0 && d.link.Queue < need {
			out = append(out,
				fmt.Sprintf("link %s: queue=%d is below the bandwidth-delay product; bursts will overflow it, "+
					"use queue=%d or more",
					d.name, d.link.Queue, need))
		}
	}
	for side := range s.QP {
		if w := s.timerWarning(trace.Side(side)); w != "" {
			out = append(out, w)
		}
	}
	return out
}

// timerWarning warns of a transport timer that expires before a response can arrive. Half an RTT of slack is for queues
// and serialisation.
func (s *Spec) timerWarning(side trace.Side) string {
	q := &s.QP[side]
	t, least := q.TransportTimer(), s.RTT()*3/2
	if t == 0 || t >= least {
		return ""
	}
	code := timeoutFor(s.RTT())
	remedy := fmt.Sprintf("timeout=%d", code)
	if q.RTO != 0 || code.Duration() < least {
		remedy = "rto=" + least.String()
	}
	return fmt.Sprintf("qp %s: transport timer %s is below 1.5 RTT (%s); expect spurious timeouts, use %s or more",
		side, t, least, remedy)
}

// timeoutFor returns the smallest code, 14 at least (perftest's default), whose transport timer is 1.5 RTT or more.
func timeoutFor(rtt vtime.Duration) engine.LocalACKTimeout {
	code := engine.LocalACKTimeout(14)
	for code < 31 && code.Duration() < rtt*3/2 {
		code++
	}
	return code
}

// FitTimeout sets the transport timers to the smallest code, 14 at least, that covers 1.5 RTT.
func (s *Spec) FitTimeout() {
	for side := range s.QP {
		s.QP[side].Timeout = timeoutFor(s.RTT())
	}
}
