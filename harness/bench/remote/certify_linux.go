package remote

import (
	"fmt"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
)

// ends holds the counters of both ends of the cable.
type ends struct{ far, near station.Counters }

// counters reads the counters of both ends.
func (c *cable) counters() (e ends, err error) {
	e.near = station.ReadCounters("", 0, c.host.At.Cable)
	e.far, err = c.host.Counters()
	return e, err
}

// settled is the time within which the counters of both ends must agree.
const settled = time.Second

// Certify implements device.Joined: by the counters of both its ends, nothing was lost on the cable. The counters are
// compared while the cable still carries, because a device may go on sending when its tool does not.
func (c *cable) Certify() ([]certify.Item, error) {
	var items []certify.Item
	for until := time.Now().Add(settled); ; time.Sleep(20 * time.Millisecond) {
		after, err := c.counters()
		if err != nil {
			return nil, err
		}
		now, err := c.order(cableCount)
		if err != nil {
			return nil, err
		}
		items = c.judge(&after, &now)
		if whole := certify.Issue("", items); whole.Valid || time.Now().After(until) {
			break
		}
	}
	if err := c.Close(); err != nil {
		return nil, err
	}
	if _, err := c.host.Identify(); err != nil { // the device may be another than before the run
		return nil, err
	}
	return append(append(items, c.lateness()...), c.times(), c.item("frames not carried", 0, c.whole.Lost,
		"exact: frames that this machine dropped between cable and link; lower the rate")), nil
}

// judge compares the cable's own counters with the growth of the counters of both ends.
func (c *cable) judge(after *ends, now *carried) []certify.Item {
	items := []certify.Item{
		c.errors("here", c.host.At.Cable, c.before.near, after.near),
		c.errors("there", c.host.At.Interface, c.before.far, after.far),
	}
	if c.soft { // those of an RNIC leave out the packets that it sends itself
		const why = "exact: what one end has sent the other has received; nothing else may use the cable"
		delta := func(name string) uint64 { return after.far[name] - c.before.far[name] }
		items = append(items, c.item("frames there", now.Sent, delta("net/rx_packets"), why),
			c.item("frames from there", delta("net/tx_packets"), now.Received, why))
	}
	return items
}

// mostLate is the delay that rules allow in addition to a device's reaction time (rule.Drain).
const mostLate = 5 * vtime.Millisecond

// lateness checks how long frames were on this machine between the tap and the cable, and how long a host whose kernel
// computes the transport may have processed nothing.
func (c *cable) lateness() []certify.Item {
	list := []certify.Item{c.timely("cable of "+c.host.At.Name+" was late", c.whole.Late,
		"leave more processor time to this machine, or lower the rate"+ordinary(c.whole.Realtime))}
	if !c.soft {
		return list
	}
	deaf := c.timely("host "+c.host.At.Name+" was deaf", c.whole.Deaf,
		"leave more processor time to the host and to this machine, or lower the rate")
	if c.whole.Answers == 0 {
		deaf.Got, deaf.Bound = "no answer to an echo request", "its kernel is asked to know how late it is; ssh "+
			c.host.At.Name+" sysctl net.ipv4.icmp_echo_ignore_all=0"
	}
	return append(list, deaf)
}

// ordinary adds to a remedy that the process of a cable had no priority over others.
func ordinary(realtime bool) string {
	if realtime {
		return ""
	}
	return "; the kernel granted the cable no real-time priority"
}

// timely checks a longest time against mostLate.
func (c *cable) timely(what string, longest vtime.Duration, remedy string) certify.Item {
	return certify.Item{Name: what, Want: "at most " + mostLate.String(),
		Got:   longest.Std().Round(10 * time.Microsecond).String(),
		Bound: "what rules allow for a reaction; " + remedy, OK: longest <= mostLate, Property: validity.Lateness}
}

func (c *cable) item(what string, want, got uint64, bound string) certify.Item {
	return certify.Item{Name: "cable of " + c.host.At.Name + " " + what, Want: fmt.Sprint(want), Got: fmt.Sprint(got),
		Bound: bound, OK: want == got, Property: validity.Capture}
}

// errors checks the counters of damaged and dropped frames of one end of the cable, those of its driver among them.
func (c *cable) errors(where, port string, before, after station.Counters) certify.Item {
	moved, sum := after.Lost(before)
	item := c.item("errors "+where, 0, sum, "exact: what "+port+" counted as damaged or dropped")
	if len(moved) > 0 {
		item.Got += " (" + strings.Join(moved, ", ") + ")"
	}
	return item
}
