// Package timer is the timer of the engines: the transport timer of a QP, and the delay of an acknowledgement. It reads
// no clock: the caller passes the time.
package timer

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// Timer is a deadline that may be running. The zero Timer has no period and never runs.
type Timer struct {
	Period  vtime.Duration
	at      vtime.Time // meaningful while running
	running bool
}

// Start sets the deadline unless the timer runs already.
func (t *Timer) Start(now vtime.Time) {
	if !t.running {
		t.Restart(now)
	}
}

// Restart sets the deadline one period after now. A timer without period stays off.
func (t *Timer) Restart(now vtime.Time) {
	t.running = t.Period > 0
	t.at = now.Add(t.Period)
}

// Stop turns the timer off.
func (t *Timer) Stop() { t.running = false }

// Running reports whether a deadline is set.
func (t *Timer) Running() bool { return t.running }

// Deadline returns when the timer expires; Never when it is off.
func (t *Timer) Deadline() vtime.Time {
	if !t.running {
		return vtime.Never
	}
	return t.at
}

// Expire reports whether the timer runs and its deadline has passed; if so, it turns the timer off.
func (t *Timer) Expire(now vtime.Time) bool {
	if !t.running || now < t.at {
		return false
	}
	t.running = false
	return true
}
