package fasr

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// timer is a deadline that runs or does not. The zero timer has no period and never runs.
type timer struct {
	period  vtime.Duration
	at      vtime.Time // meaningful while running
	running bool
}

// start sets the deadline unless the timer runs already.
func (t *timer) start(now vtime.Time) {
	if !t.running {
		t.restart(now)
	}
}

// restart sets the deadline one period after now. A timer without period stays off.
func (t *timer) restart(now vtime.Time) {
	t.running = t.period > 0
	t.at = now.Add(t.period)
}

// stop turns the timer off.
func (t *timer) stop() { t.running = false }

// expire turns the timer off and reports true when its deadline has come.
func (t *timer) expire(now vtime.Time) bool {
	if !t.running || now < t.at {
		return false
	}
	t.running = false
	return true
}
