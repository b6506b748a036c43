package irn

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// rto is the retransmission timer of a sender. It has two timeouts: the low one applies while at most n packets are in
// flight, which may draw no NACK at all and whose spurious retransmission is cheap; the high one otherwise (IRN 3.1).
//
// The timer is armed with the low timeout; if more than n packets are in flight at its expiry, it is extended to the
// high one. The zero rto never runs.
type rto struct {
	low, high vtime.Duration // low <= high; high is 0 if the sender has no timer
	n         int            // maximum number of packets in flight for the low timeout

	at      vtime.Time // deadline; meaningful while running
	running bool
	quick   bool // at is the deadline of the low timeout, and low < high
}

// start arms the timer unless it runs already.
func (t *rto) start(now vtime.Time) {
	if !t.running {
		t.restart(now)
	}
}

// restart arms the timer again, from now.
func (t *rto) restart(now vtime.Time) {
	t.running, t.quick = t.high > 0, t.low < t.high
	t.at = now.Add(t.low)
}

// wait arms the timer with twice the high timeout, for READ data that the peer retransmits by its own timer.
func (t *rto) wait(now vtime.Time) {
	t.running, t.quick = t.high > 0, false
	t.at = now.Add(2 * t.high)
}

// stop turns the timer off.
func (t *rto) stop() { t.running, t.quick = false, false }

// deadline returns the time at which expired is to be called; Never if the timer is off.
func (t *rto) deadline() vtime.Time {
	if !t.running {
		return vtime.Never
	}
	return t.at
}

// expired reports whether the timer has expired at now, and if so turns it off.
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
