package rate

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var path = Path{Line: 40 * unit.Gbps, RTT: 100 * vtime.Microsecond, Frame: 1106}

func make1(t *testing.T, name string) Control {
	t.Helper()
	c, err := New(name, path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNew(t *testing.T) {
	for _, name := range []string{"", "none"} {
		if c, err := New(name, path); c != nil || err != nil {
			t.Errorf("New(%q) = %v, %v; want nothing", name, c, err)
		}
	}
	if _, err := New("cubic", path); err == nil {
		t.Error("an unknown control is accepted")
	}
	if _, err := New("dcqcn", Path{}); err == nil {
		t.Error("a line without a rate is accepted")
	}
	for _, name := range Names() {
		if got := make1(t, name).Rate(0); got != path.Line {
			t.Errorf("%s begins with %v, want the line's %v", name, got, path.Line)
		}
	}
}

// TestPacing: packets leave in sequence at the current rate, and an idle time is not made up for.
func TestPacing(t *testing.T) {
	for _, name := range Names() {
		c := make1(t, name)
		frame := path.Line.Time(path.Frame)
		if got := c.Sent(0, path.Frame); got != vtime.Time(frame) {
			t.Errorf("%s: the second packet may leave at %v, want %v", name, got, frame)
		}
		later := vtime.Time(vtime.Second)
		if got := c.Sent(later, path.Frame); got != later.Add(frame) {
			t.Errorf("%s: after a second of silence %v, want %v", name, got, later.Add(frame))
		}
	}
}

// TestDCQCNCut follows equations 1 and 2 from the start: alpha is 1, so the first notification halves the rate.
func TestDCQCNCut(t *testing.T) {
	d := make1(t, "dcqcn").(*dcqcn)
	d.Notified(0)
	if d.rc != 20e9 || d.rt != 40e9 || d.alpha != 1 {
		t.Errorf("RC %g, RT %g, alpha %g; want 20e9, 40e9, 1", d.rc, d.rt, d.alpha)
	}
	now := vtime.Time(alphaPeriod) // alpha decays once, and the timer raises the rate once
	if got := d.Rate(now); got != 30*unit.Gbps {
		t.Errorf("after one round %v, want 30G: half way to the target", got)
	}
	if want := 1 - dcqcnGain; d.alpha != want {
		t.Errorf("alpha %g, want %g", d.alpha, want)
	}
	d.Notified(now)
	if d.rt != 30e9 || d.rc != 30e9*(1-(1-dcqcnGain)/2) {
		t.Errorf("RC %g, RT %g after the second cut", d.rc, d.rt)
	}
}

// TestDCQCNRecovers: without notifications the rate returns to that of the line, and an idle QP then has no timer.
func TestDCQCNRecovers(t *testing.T) {
	d := make1(t, "dcqcn").(*dcqcn)
	for i := range 100 {
		d.Notified(vtime.Time(i) * vtime.Time(vtime.Microsecond))
	}
	low := d.Rate(vtime.Time(100 * vtime.Microsecond))
	if low < path.Line/slowest || low > path.Line/slowest*2 {
		t.Errorf("after 100 notifications %v, want the least, %v", low, path.Line/slowest)
	}
	if got := d.Rate(vtime.Time(vtime.Second)); got != path.Line {
		t.Errorf("a second later %v, want the line's %v", got, path.Line)
	}
	if d.cut {
		t.Error("it still recovers")
	}
}

// TestDCQCNByteCounter: a busy QP recovers faster than an idle one.
func TestDCQCNByteCounter(t *testing.T) {
	busy, idle := make1(t, "dcqcn"), make1(t, "dcqcn")
	busy.Notified(0)
	idle.Notified(0)
	for range 3 {
		busy.Sent(1, raiseBytes)
	}
	if b, i := busy.Rate(1), idle.Rate(1); b <= i {
		t.Errorf("busy %v, idle %v; want the busy one faster", b, i)
	}
}

// TestDCTCP follows equations 1 and 2 over rounds with a quarter, none and all of the packets marked.
func TestDCTCP(t *testing.T) {
	d := make1(t, "dctcp").(*dctcp)
	now := vtime.Time(0)
	round := func(marked, all int) {
		d.all, d.marked = all-1, max(0, marked-1)
		now = now.Add(path.RTT)
		d.Acknowledged(now, marked > 0)
	}
	round(5, 20)
	alpha := 15.0/16 + 0.25/16
	if d.alpha != alpha || d.rate != 40e9*(1-alpha/2) {
		t.Errorf("alpha %g, rate %g; want %g, %g", d.alpha, d.rate, alpha, 40e9*(1-alpha/2))
	}
	before := d.rate
	round(0, 20)
	if got := d.rate - before; got < 88.4e6 || got > 88.6e6 {
		t.Errorf("a round without marks adds %g bit/s, want a packet of 1106 bytes in 100 us", got)
	}
	for range 200 {
		round(20, 20)
	}
	if d.Rate(now) != path.Line/slowest {
		t.Errorf("all marked: %v, want the least, %v", d.Rate(now), path.Line/slowest)
	}
}

func TestNoAllocation(t *testing.T) {
	for _, name := range Names() {
		c, now := make1(t, name), vtime.Time(0)
		if n := testing.AllocsPerRun(1000, func() {
			now = c.Sent(now, path.Frame)
			c.Acknowledged(now, true)
			c.Notified(now)
		}); n != 0 {
			t.Errorf("%s allocates %g times a packet", name, n)
		}
	}
}
