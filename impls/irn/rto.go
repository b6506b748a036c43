package irn

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// rto is the retransmission timer of a sender. It has two values: the low one counts when few packets (N) are in
// flight, which may draw no NACK at all and whose spurious retransmission is cheap; the high one otherwise (IRN 3.1).
//
// It is armed with the low value; when more than n packets are in flight at its expiry, it goes on to the high one. The
// zero rto never runs.
type rto struct {
	low, high vtime.Duration
	n         int

	at      vtime.Time // meaningful while running
	running bool
	quick   bool // at is the low one
}

// start arms the timer unless it runs already.
func (t *rto) start(now vtime.Time) {
	if !t.running {
		t.restart(now)
	}
}

// restart arms the timer anew.
func (t *rto) restart(now vtime.Time) {
	t.running, t.quick = t.high > 0, t.low < t.high
	t.at = now.Add(t.low)
}

// wait arms the timer for twice its time: for what the other end repeats by a timer of its own.
func (t *rto) wait(now vtime.Time) {
	t.running, t.quick = t.high > 0, false
	t.at = now.Add(2 * t.high)
}

// stop turns the timer off.
func (t *rto) stop() { t.running, t.quick = false, false }

// deadline returns when expired wants to be called; Never when the timer is off.
func (t *rto) deadline() vtime.Time {
	if !t.running {
		return vtime.Never
	}
	return t.at
}

// expired reports whether a timeout has come, and turns the timer off with it.
func (t *rto) expired(now vtime.Time, inFlight int) bool {
	if t.running && t.at <= now && t.quick && inFlight > t.n {
		t.quick = false
		t.at = t.at.Add(t.high - t.low)
	}
	if !t.running || now < t.at {
		return false
	}
	t.stop()
	return true
}
