package bench

import (
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Patience returns the time for which a run in real time, of which a second lasts k seconds, may be without progress
// while work is left: nothing sent, received, posted or completed by either end. It is NoProgress, if that is set.
// Otherwise it is four times the time of all retries of the slower end, because a transport timer may run for four
// times its value (IBTA 9.7.6.1.3), but at least as long as a slow line, TCP, and the gaps between messages with
// arrival times require, and at least leastPatience in the machine's time.
func (j *Job) Patience(k vtime.Dilation) vtime.Duration {
	if j.NoProgress > 0 {
		return j.NoProgress
	}
	most := max(k.Spec(leastPatience), timerSlack*j.Spec.RTT())
	for side, rate := range []unit.Rate{j.Spec.Link.AB.Rate, j.Spec.Link.BA.Rate} {
		q := &j.Spec.QP[side]
		most = max(most, timerSlack*vtime.Duration(q.RetryCount+1)*q.TransportTimer(),
			timerSlack*rate.Time(q.MTU+roce.Overhead))
		if j.Impls[side].NewStream != nil {
			most = max(most, tcpPatience)
		}
	}
	for i := range j.Spec.Loads {
		most = max(most, longestGap(j.Spec, &j.Spec.Loads[i]))
	}
	return most
}

const (
	// leastPatience is in the machine's time, far above any delay that a busy host causes.
	leastPatience = 10 * vtime.Second

	// tcpPatience exceeds the longest wait of TCP before a retransmission (RFC 6298, 2.5, and Linux: 120 s).
	tcpPatience = 150 * vtime.Second

	timerSlack = 4

	// longestWait is the duration of the longest run.
	longestWait = 24 * 3600 * vtime.Second

	// gaps is a bound for the gaps of a Poisson process, in mean gaps; it is exceeded once in 10^13.
	gaps = 30
)

// longestGap returns the longest time for which a load with arrival times may leave the link idle; 0 for other loads.
func longestGap(s *scenario.Spec, l *scenario.Load) vtime.Duration {
	switch {
	case l.Every > 0:
		return 2 * l.Every
	case l.Offered > 0:
		mean := s.Link.AB.Rate.Time(int(l.Mean()))
		return vtime.Duration(min(gaps*float64(mean)/float64(l.Offered), float64(longestWait)))
	}
	return 0
}
