// Package rate is the congestion control of the transports of this project: a small interface that turns congestion
// notifications to a sender into the time at which its next packet may leave. It is off unless a run asks for it.
//
// Two controls are here because published figures of loss-recovery schemes were measured with them; more are not
// wanted. Both react to the marks that a link sets on packets when its queue is long (ECN, RFC 3168), and both pace:
// they never delay packets that a transport must send at once, such as acknowledgements.
//
// A Control is a state machine without a clock or timers of its own: each call first catches up with the timer events
// since the previous one, so an idle QP costs nothing.
package rate

import (
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Control is the rate control of one QP's data in one direction. Times must not decrease.
type Control interface {
	// Sent charges a packet of n layer-1 bytes whose first bit leaves at now, and returns when the next one may leave.
	Sent(now vtime.Time, n int) vtime.Time

	// Notified takes a congestion notification packet (annex A17).
	Notified(now vtime.Time)

	// Acknowledged takes an acknowledgement; marked tells that it echoes a congestion mark.
	Acknowledged(now vtime.Time, marked bool)

	// Rate returns the rate in force.
	Rate(now vtime.Time) unit.Rate
}

// Path describes the path of a sender to its control.
type Path struct {
	Line  unit.Rate      // rate of the sender's port; the control begins with it and never exceeds it
	RTT   vtime.Duration // propagation, both ways
	Frame int            // layer-1 bytes of a full packet
}

// Names lists the controls, without "none".
func Names() []string { return []string{"dcqcn", "dctcp"} }

// New returns the control of that name, nil for "none". A control needs a limited line, because it begins at line rate.
func New(name string, p Path) (Control, error) {
	switch {
	case name == "none" || name == "":
		return nil, nil
	case p.Line <= 0:
		return nil, fmt.Errorf("rate control %s: the line has no rate to begin with; give the link one", name)
	}
	switch name {
	case "dcqcn":
		return newDCQCN(p), nil
	case "dctcp":
		return newDCTCP(p), nil
	}
	return nil, fmt.Errorf("rate control %q: unknown; want none, %s", name, strings.Join(Names(), " or "))
}

// slowest is the share of the line below which no control goes, so that a QP can always find out that congestion is
// over.
const slowest = 1000

// pacer spaces packets at a rate. Its zero value has sent nothing.
type pacer struct{ next vtime.Time }

// sent charges n bytes at a rate.
func (p *pacer) sent(now vtime.Time, r unit.Rate, n int) vtime.Time {
	p.next = max(p.next, now).Add(r.Time(n))
	return p.next
}
