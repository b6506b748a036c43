// Package timeout tells from packets when the timer of a requester may have expired, for rules of requesters that do
// not report their timeouts.
package timeout

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Timer tells whether the timer of a requester may have expired, where the end does not report that. The timer of the
// oldest packet runs from the time at which that packet became the oldest, or later, for the shortest timeout that the
// attributes allow, or longer. The zero Timer never expires.
type Timer struct {
	port   *rule.Port
	least  vtime.Duration // shortest timeout; 0 when there is none, or the end reports timeouts
	starts []start        // of the packets that the end may take for the oldest, by PSN; the last is the oldest
}

// start is the earliest start of the timer while a packet is the oldest.
type start struct {
	una psn.PSN
	at  vtime.Time
}

// NewTimer returns the Timer of the requester. Its timeouts are the transport timer and others; those of 0 are off.
func NewTimer(c *rule.Context, others ...vtime.Duration) (t Timer) {
	if t.port = c.Port; c.Offers(rule.Completions) {
		return t
	}
	for _, d := range append(others, c.Attr.TransportTimer()) {
		if d > 0 && (t.least == 0 || d < t.least) {
			t.least = d
		}
	}
	return t
}

// Starts records that una became the oldest unacknowledged packet: it was sent with none before it in flight, or an
// acknowledgement of all before it arrived.
func (t *Timer) Starts(una psn.PSN, at vtime.Time) {
	if t.least == 0 {
		return
	}
	t.forget(at)
	if n := len(t.starts); n > 0 && t.starts[n-1].una == una {
		t.starts = t.starts[:n-1]
	}
	t.starts = append(t.starts, start{una, at})
}

// forget drops the starts before those that the end certainly knows.
func (t *Timer) forget(now vtime.Time) {
	n := 0
	for n+1 < len(t.starts) && !t.port.Lags(t.starts[n+1].at, now) {
		n++
	}
	t.starts = t.starts[:copy(t.starts, t.starts[n:])]
}

// Expires reports whether the timer may have expired before a retransmission, at the earliest at the time that it
// returns: its packet is the oldest, or was when the retransmission entered the port, and that for long enough. The end
// certainly knew that everything before sure is acknowledged. The timer then starts again.
func (t *Timer) Expires(s *rule.Sight, sure psn.PSN) (at vtime.Time, ok bool) {
	for i := range t.starts {
		v := &t.starts[i]
		at = v.at.Add(t.least - rule.TimerEarly(t.least))
		if v.una == s.Pkt.PSN && !v.una.Less(sure) && at <= s.At {
			v.at = s.At
			return max(at, s.At.Add(-t.port.Wait())), true
		}
	}
	return 0, false
}
