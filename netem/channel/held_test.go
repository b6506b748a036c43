package channel

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// drive offers packets 0 to n-1 at the rate of the line and returns them in the order of arrival. It follows the
// contract of drivers: Release after every Offer and at NextRelease, ties in the order of learning.
func drive(c *Channel, n int) string {
	type arrival struct {
		at   vtime.Time
		name string
	}
	var arrivals []arrival
	tickets := map[uint64]string{}
	drain := func(now vtime.Time) {
		for r, ok := c.Release(now); ok; r, ok = c.Release(now) {
			arrivals = append(arrivals, arrival{r.Arrive, tickets[r.Ticket]})
		}
	}
	for i := range n {
		name := string(rune('0' + i%10))
		v := c.Offer(c.Free(), bytes, fault.A, packet(i))
		switch v.Fate {
		case Held:
			tickets[v.Ticket] = name
		case Delivered:
			arrivals = append(arrivals, arrival{v.Arrive, name})
		}
		drain(c.Free())
	}
	for c.NextRelease() != vtime.Never {
		drain(c.NextRelease())
	}
	var order strings.Builder
	for len(arrivals) > 0 {
		first := 0
		for i, a := range arrivals {
			if a.at < arrivals[first].at {
				first = i
			}
		}
		order.WriteString(arrivals[first].name)
		arrivals = append(arrivals[:first], arrivals[first+1:]...)
	}
	return order.String()
}

func TestReorderBehind(t *testing.T) {
	const link = "rate=10G queue=9 delay=5us"
	tests := []struct {
		faults, want string
		early        uint64
	}{
		{"", "012345", 0},
		{"reorder A psn=+2 behind=1", "013245", 0},
		{"reorder A psn=+2 behind=3", "013452", 0},
		{"reorder A psn=+0 behind=2", "120345", 0},
		{"reorder A psn=+2 behind=9", "013452", 1},                           // too few packets behind it
		{"reorder A psn=+5 behind=1", "012345", 1},                           // none
		{"reorder A psn=+2 behind=2,drop A psn=+3", "01452", 0},              // a lost packet does not pass it
		{"reorder A psn=+1 behind=1,reorder A psn=+2 behind=1", "031245", 0}, // nor does a held packet
		{"reorder A psn=+1 behind=3,reorder A psn=+2 behind=1", "032451", 0}, //
		// the held packet waits for the delayed one and follows it
		{"reorder A psn=+2 behind=1,delay A psn=+3 by=1500ns", "014325", 0},
		{"reorder A psn=+2 behind=1,delay A psn=+3 by=5ms", "014523", 1},         // only for a bounded time
		{"reorder A psn=+2 behind=1,delay A psn=+2 by=2500ns", "013425", 0},      // the delay of the held packet counts
		{"reorder A psn=+2..+4 behind=1 count=2,drop A psn=+5", "01423", 0},      //
		{"dup A psn=+2 copies=1,reorder A psn=+2 behind=2 count=*", "013425", 0}, // copies follow their packet
	}
	for _, tt := range tests {
		var script []string
		if tt.faults != "" {
			script = strings.Split(tt.faults, ",")
		}
		c := open(t, link, "none", script...)
		if got := drive(c, 6); got != tt.want || c.Counters().Early != tt.early {
			t.Errorf("%s: arrive as %s with %d early, want %s with %d", tt.faults, got, c.Counters().Early,
				tt.want, tt.early)
		}
	}
}

// A held packet without enough successors arrives a fixed time after its own arrival.
func TestPatience(t *testing.T) {
	tests := []struct {
		link string
		want vtime.Duration // after the packet's own arrival
	}{
		{"delay=5us", vtime.Millisecond},
		{"delay=20ms", 200 * vtime.Millisecond},
	}
	for _, tt := range tests {
		c := open(t, tt.link, "none", "reorder A psn=+0 behind=1")
		v := c.Offer(0, bytes, fault.A, packet(0))
		if v.Fate != Held || v.Arrive != vtime.Never || v.Cause.String() != "reorder[0]" {
			t.Fatalf("%s: %+v", tt.link, v)
		}
		due := vtime.Time(c.link.Delay + tt.want)
		if c.NextRelease() != due {
			t.Errorf("%s: NextRelease = %s, want %s", tt.link, show(c.NextRelease()), show(due))
		}
		if r, ok := c.Release(due - 1); ok {
			t.Errorf("%s: released at %s already", tt.link, show(r.Arrive))
		}
		if r, ok := c.Release(due); !ok || r.Arrive != due || r.Ticket != v.Ticket {
			t.Errorf("%s: Release = %+v, %v", tt.link, r, ok)
		}
		if c.NextRelease() != vtime.Never {
			t.Errorf("%s: still holds something", tt.link)
		}
	}
}

// A driver that asks too late gets no arrival in the past.
func TestReleaseIsNeverInThePast(t *testing.T) {
	c := open(t, "delay=5us", "none", "reorder A psn=+0 behind=1")
	c.Offer(0, bytes, fault.A, packet(0))
	late := vtime.Time(vtime.Second)
	c.Offer(late, bytes, fault.A, packet(1))
	if c.NextRelease() != late {
		t.Errorf("NextRelease = %s, want %s", show(c.NextRelease()), show(late))
	}
	if r, ok := c.Release(late); !ok || r.Arrive != late {
		t.Errorf("Release = %+v, %v, want an arrival at %s", r, ok, show(late))
	}
}

// At most MaxHeld packets wait, including releases that were not fetched; the others pass at once and are counted.
func TestHeldIsBounded(t *testing.T) {
	c := open(t, "delay=5us", "none", "reorder A behind=60000 count=*")
	for i := range MaxHeld + 2 {
		v := c.Offer(0, bytes, fault.A, packet(i))
		if want := Held; i < MaxHeld && v.Fate != want || i >= MaxHeld && v.Fate != Delivered {
			t.Fatalf("packet %d is %s", i, v.Fate)
		}
	}
	if k := c.Counters(); k.Early != 2 || k.Reordered != MaxHeld {
		t.Errorf("counters %+v", k)
	}
	late := vtime.Time(vtime.Second)
	if _, ok := c.Release(late); !ok {
		t.Fatal("nothing is released")
	}
	if v := c.Offer(late, bytes, fault.A, packet(99)); v.Fate != Held {
		t.Errorf("the place of the fetched release is not free: %s", v.Fate)
	}
	n := 0
	for _, ok := c.Release(late); ok; _, ok = c.Release(late) {
		n++
	}
	if n != MaxHeld-1 {
		t.Errorf("%d more releases, want %d", n, MaxHeld-1)
	}
}
