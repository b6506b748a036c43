package bench

import (
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Patience is how long a run in real time, of which a second lasts k seconds, may stand still while work is left:
// nothing sent, received, posted or completed by either end. It is NoProgress, if that is set. Otherwise it is four
// times what all retries of the slower end take, because a transport timer may run for four times its value (IBTA
// 9.7.6.1.3), long enough for a slow line, for TCP, and for the gaps between messages that come by the clock, and
// leastPatience of the machine at least.
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
	// leastPatience is a time of the machine, far above what a busy host makes a program wait.
	leastPatience = 10 * vtime.Second

	// tcpPatience is above the longest that TCP waits before it sends again (RFC 6298, 2.5, and Linux: 120 s).
	tcpPatience = 150 * vtime.Second

	timerSlack = 4

	// longestWait is that of the longest run.
	longestWait = 24 * 3600 * vtime.Second

	// gaps is how many mean gaps a gap of a Poisson process never exceeds: once in 10^13.
	gaps = 30
)

// longestGap is how long a load that comes by the clock may leave the link idle; 0 for any other.
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
