package sim_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// retries is an auditor that also checks that a QP gives up only after a loss in each of its attempts: the first and
// seven more.
type retries struct {
	auditor
	spoilt [2]int           // by QP: packets of both ends that were lost, corrupted or overtaken
	last   [2][2]vtime.Time // by side and QP: the latest arrival
	ended  [2][2]bool       // by side and QP: it failed, after which its peer fails too
}

func (c *retries) Packet(r *trace.Record) {
	c.auditor.Packet(r)
	last := &c.last[r.From][r.Conn]
	if r.Fate == trace.Dropped || r.Fate == trace.Corrupted || r.Recv < *last {
		c.spoilt[r.Conn]++
		return
	}
	*last = r.Recv
}

func (c *retries) Event(e *trace.Event) {
	c.auditor.Event(e)
	if e.Kind != trace.Fatal {
		return
	}
	c.ended[e.Side][e.Conn] = true
	if spoilt := c.spoilt[e.Conn]; spoilt < 8 && !c.ended[e.Side.Other()][e.Conn] {
		c.errorf("QP %d of %s: %s after %d losses", e.Conn, e.Side, e.Body.Status, spoilt)
	}
}

// check takes a side's shortfall, which must be of a QP that failed or empty.
func (c *retries) check(side trace.Side, undone string) {
	var qp int
	if _, err := fmt.Sscanf(undone, "QP %d of "+side.String()+" failed", &qp); undone != "" &&
		(err != nil || !c.ended[side][qp]) {
		c.errorf("%s", undone)
	}
}

// Whatever the link does, the trace is in order and balanced, memory is right, and the work gets done, unless the link
// spoils every attempt of a QP.
func TestAnyLink(t *testing.T) {
	loads := []string{"load write msg=5000 count=9", "load send msg=700 count=9", "load read msg=3000 count=9",
		"load write-imm msg=100 count=9 from=B",
		"load read from=B msg=9000 count=5"}
	faults := []string{"drop A psn=+3..+9 tx=1", "drop B nth=2 count=3", "drop A psn=+5 count=*",
		"dup A count=* copies=3 by=5us", "dup B count=*", "reorder A nth=4 behind=3",
		"reorder A nth=5 behind=2", "reorder B count=5 behind=1", "delay A nth=7 by=200us", "corrupt A nth=6",
		"corrupt B nth=3 field=ip", "mark A count=*",
		"inject B at=50us icrc=bad : SEND_ONLY psn=+0", "inject A at=0 : ACK psn=-9 msn=0",
		"reorder A psn=+0 behind=60000"}
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(name string, from []string, least int) []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom(from), least, 4, rapid.ID[string]).Draw(rt, name)
		}
		lines := append(pick("loads", loads, 1), pick("faults", faults, 0)...)
		lines = append(lines, fmt.Sprintf("seed %d", rapid.IntRange(0, 99).Draw(rt, "seed")),
			"qp qd=4 rto=3ms count=2 receives=6",
			rapid.SampledFrom([]string{"link delay=0", "link rate=1G delay=20us",
				"link rate=100M delay=100us jitter=90us queue=1",
				"link rate=10G delay=50us reorder=20%", "link rate=1G delay=50us duplicate=20% jitter=10us",
				"link delay=10us corrupt=3%"}).Draw(rt, "link"),
			rapid.SampledFrom([]string{"loss none", "loss random p=3%", "loss gemodel p=1% r=80%",
				"loss A>B burst p=1% len=3"}).Draw(rt, "loss"))
		var a retries
		w := world(rt, spec(rt, lines...),
			sim.Options{Bytes: rapid.Bool().Draw(rt, "bytes"), Sink: &a, Steps: 5_000_000})
		if err := w.Run(); err != nil {
			rt.Fatalf("%q: %v", lines, err)
		}
		a.balance(w)
		for _, side := range []trace.Side{trace.A, trace.B} {
			a.check(side, w.Endpoint(side).Shortfall())
		}
		if a.errs != nil || a.memory != 0 {
			rt.Fatalf("%q: %q; %d bytes wrong", lines, a.errs, a.memory)
		}
	})
}

// arrivals returns the PSNs of A's packets in the order of arrival at B; c marks a copy, x a lost packet.
func arrivals(c *trace.Collector) string {
	type arrival struct {
		at   vtime.Time
		text string
	}
	var order []arrival
	for _, r := range c.Records {
		if r.From != trace.A {
			continue
		}
		text := fmt.Sprint(r.Packet.PSN)
		if r.Copy {
			text += "c"
		}
		if r.Fate == trace.Dropped {
			text += "x"
		}
		order = append(order, arrival{min(r.Recv, max(r.Recv, r.Sent)), text})
	}
	out := ""
	for len(order) > 0 {
		first := 0
		for i := range order {
			if order[i].at < order[first].at {
				first = i
			}
		}
		out += " " + order[first].text
		order = append(order[:first], order[first+1:]...)
	}
	return out
}

// Each fault has the effect of its name on the packets of one WRITE.
func TestFaults(t *testing.T) {
	for _, tt := range []struct{ fault, want string }{
		{"drop B", " 0 1 2 3 4 0 1 2 3 4"},            // the ACK is lost, and all packets are sent again
		{"dup A psn=+1 copies=2", " 0 1 2 1c 3 1c 4"}, // a copy takes as long as a packet,
		{"dup A psn=+1 by=20us", " 0 1 2 3 1c 4"},
		{"delay A psn=+4 by=5us", " 0 1 2 3 4"},
		{"reorder A psn=+0 behind=4", " 1 2 3 4 0 0 1 2 3 4"},
		{"drop A psn=+4 tx=1", " 0 1 2 3 0 1 2 3 4 4x"},
		{"inject B at=1us : WRITE_MIDDLE psn=+9 len=1024", " 9 0 1 2 0 1 2 3 4"}, // B sees a gap, and A goes back
		{"dup A psn=+1 copies=2 by=1us", " 0 1 1c 1c 2 3 4"},
		{"dup A psn=+1 by=1us,reorder A psn=+1 behind=1", " 0 2 1 1c 3 4 1 2 3 4"},
	} {
		_, c := play(t, sim.Options{Bytes: true}, append([]string{"link rate=1G delay=20us", "qp rto=200us ackreq=0",
			"post-write len=5120"}, strings.Split(tt.fault, ",")...)...)
		if got := arrivals(c); got != tt.want {
			t.Errorf("%s: B sees%s, want%s", tt.fault, got, tt.want)
		}
	}
}

// A copy has no time of sending, and is in the trace where it arrives.
func TestCopies(t *testing.T) {
	_, c := play(t, sim.Options{Bytes: true}, "link rate=1G delay=1ms", "dup A count=* copies=3 by=7us", "qp rto=9ms",
		"load write msg=3000 count=20")
	copies := 0
	for _, r := range c.Records {
		if !r.Copy {
			continue
		}
		copies++
		if r.Sent != vtime.Never || r.Recv == vtime.Never || r.Time() != r.Recv ||
			r.ICRC != trace.Good || len(r.Raw) == 0 {
			t.Fatalf("copy %+v", r)
		}
	}
	if copies != 3*3*20 {
		t.Errorf("%d copies, want %d", copies, 3*3*20)
	}
}

// A held packet that nothing overtakes any more arrives when the hold ends.
func TestHeldToTheEnd(t *testing.T) {
	_, c := play(t, sim.Options{Bytes: true}, "link rate=1G delay=20us", "reorder A psn=+4 behind=9", "qp timeout=0",
		"post-write len=5120", "run limit=10s")
	for _, r := range c.Records {
		if r.Packet.PSN == 4 && r.From == trace.A && (r.Recv-r.Sent < vtime.Time(vtime.Millisecond) ||
			r.Recv == vtime.Never) {
			t.Errorf("sent at %d, received at %d", r.Sent, r.Recv)
		}
	}
	if len(c.Records) != 6 {
		t.Errorf("%d records, want 5 packets and their ACK", len(c.Records))
	}
}

// A tape with identity keys loses the packets that it names.
func TestTape(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tape")
	text := "gauntlet-tape 1\nkey identity\nmodel none\nseed 0\nlost qp=0 psn=+2 tx=1 class=DATA\nend 1\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, c := play(t, sim.Options{}, "link rate=1G delay=20us", "loss tape file="+file, "qp rto=500us",
		"post-write len=5120")
	if got, want := arrivals(c), " 0 1 3 4 2 3 4 2x"; got != want {
		t.Errorf("B sees%s, want%s", got, want)
	}
}
