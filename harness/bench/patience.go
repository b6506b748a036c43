package bench

import (
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Patience is how long a run in real time may stand still while work is left: nothing sent, received, posted or completed by
// either end. It is NoProgress, if that is set. Otherwise it is four times what all retries of the slower end take, because a
// transport timer may run for four times its value (IBTA 9.7.6.1.3), long enough for the gaps between messages that come by the
// clock, and leastPatience at least.
func (j *Job) Patience() vtime.Duration {
	if j.NoProgress > 0 {
		return j.NoProgress
	}
	most := leastPatience
	for _, q := range j.Spec.QP {
		most = max(most, timerSlack*vtime.Duration(q.RetryCount+1)*q.TransportTimer())
	}
	most = max(most, timerSlack*j.Spec.RTT())
	for i := range j.Spec.Loads {
		most = max(most, longestGap(j.Spec, &j.Spec.Loads[i]))
	}
	return most
}

const (
	// leastPatience is far above what a busy host makes a program wait.
	leastPatience = 10 * vtime.Second

	timerSlack = 4

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
		return vtime.Duration(gaps * float64(mean) / float64(l.Offered))
	}
	return 0
}
