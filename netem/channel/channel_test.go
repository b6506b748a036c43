package channel

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// us is one microsecond, which is the time of 1250 bytes at 10 Gb/s.
const (
	us    = vtime.Time(vtime.Microsecond)
	bytes = 1250
)

// open returns a channel for a link, its loss and its faults, all given as text.
func open(t testing.TB, link, loss string, script ...string) *Channel {
	t.Helper()
	l, err := spec.ParseLink(link)
	if err != nil {
		t.Fatal(err)
	}
	if l.Loss, err = spec.ParseLoss(loss); err != nil {
		t.Fatal(err)
	}
	var faults []fault.Fault
	for _, line := range script {
		f, err := fault.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		faults = append(faults, f)
	}
	set, err := fault.NewSet(faults)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(l, set, 1)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func packet(offset int) fault.Identity {
	return fault.Identity{PSN: uint32(offset), Offset: offset, Type: "WRITE_MIDDLE", Class: fault.Data}
}

// send offers n packets at one time and prints each verdict as "sent>arrive", in microseconds, with its cause.
func send(c *Channel, now vtime.Time, n int) string {
	var out []string
	for i := range n {
		v := c.Offer(now, bytes, fault.A, packet(i))
		s := show(v.Sent) + ">" + show(v.Arrive)
		if v.Cause != (Cause{}) {
			s += " " + v.Cause.String()
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func show(t vtime.Time) string {
	if t == vtime.Never {
		return "-"
	}
	return fmt.Sprint(float64(t) / float64(us))
}

// Packets offered together show the order of the impairments, with a line for each.
func TestVerdicts(t *testing.T) {
	tests := []struct {
		link, loss string
		faults     string
		want       string
	}{
		{"rate=0", "none", "", "0>0, 0>0, 0>0"},
		{"delay=5us", "none", "", "0>5, 0>5, 0>5"},
		{"rate=10G queue=9 delay=5us", "none", "", "1>6, 2>7, 3>8"},
		{"rate=10G queue=1 delay=5us", "none", "", "1>6, 2>7, 0>- queue"},
		{"rate=10G queue=9", "random p=1", "", "1>- loss, 2>- loss, 3>- loss"},
		{"rate=10G queue=1", "random p=1", "", "1>- loss, 2>- loss, 0>- loss"},
		{"rate=10G queue=9", "random p=1", "drop A psn=+1", "1>- loss, 2>- drop[0], 3>- loss"},
		{"rate=10G queue=9", "none", "drop A psn=+1", "1>1, 2>- drop[0], 3>3"},
		{"rate=10G queue=1", "none", "delay A psn=+2 by=1us", "1>1, 2>2, 0>- queue"},
		{"rate=10G queue=9 delay=5us", "none", "delay A psn=+1 by=10us", "1>6, 2>17 delay[0], 3>8"},
		{"rate=10G queue=9 delay=5us reorder=1", "none", "", "1>1 reorder, 2>2 reorder, 3>3 reorder"},
		{"rate=10G queue=9 delay=5us reorder=1", "none", "delay A psn=+1 by=10us",
			"1>1 reorder, 2>12 reorder, 3>3 reorder"},
		{"rate=10G queue=9 delay=5us", "none", "reorder A psn=+1 behind=1", "1>6, 2>- reorder[0], 3>8"},
		{"rate=10G queue=9 duplicate=1", "none", "", "1>1 duplicate, 2>2 duplicate, 3>3 duplicate"},
		{"rate=10G queue=9 corrupt=1", "none", "dup A psn=+1", "1>1 corrupt, 2>2 corrupt, 3>3 corrupt"},
		{"rate=0", "none", "dup A psn=+0,mark A psn=+1,rewrite A psn=+2 field=ttl value=3",
			"0>0 dup[0], 0>0 mark[1], 0>0 rewrite[2]"},
		{"corrupt=1", "none", "corrupt A psn=+1 field=icrc", "0>0 corrupt, 0>0 corrupt[0], 0>0 corrupt"},
		{"rate=0", "none", "drop B", "0>0, 0>0, 0>0"},
	}
	for _, tt := range tests {
		var script []string
		if tt.faults != "" {
			script = strings.Split(tt.faults, ",")
		}
		if got := send(open(t, tt.link, tt.loss, script...), 0, 3); got != tt.want {
			t.Errorf("%s | %s | %s\n got %s\nwant %s", tt.link, tt.loss, tt.faults, got, tt.want)
		}
	}
}

func TestLineDrains(t *testing.T) {
	c := open(t, "rate=10G queue=2", "none")
	steps := []struct {
		at   vtime.Time
		n    int
		want string
	}{
		{0, 4, "1>1, 2>2, 3>3, 0>- queue"},
		{us - 1, 1, "0.999999>- queue"},
		{us, 2, "4>4, 1>- queue"},
		{10 * us, 1, "11>11"},
		{9 * us, 1, "12>12"}, // an earlier time counts as the latest so far
	}
	for _, s := range steps {
		if got := send(c, s.at, s.n); got != s.want {
			t.Errorf("at %s: %s, want %s", show(s.at), got, s.want)
		}
	}
	want := Counters{Offered: 9, Delivered: 6, Overflow: 3, QueueMax: 2}
	if got := c.Counters(); got != want {
		t.Errorf("counters %+v, want %+v", got, want)
	}
	if c.Free() != 12*us || c.Line(bytes) != vtime.Microsecond || c.Rate() != 10*unit.Gbps {
		t.Errorf("free at %s, a packet takes %s at %s", show(c.Free()), c.Line(bytes), c.Rate())
	}
}

func TestInstructions(t *testing.T) {
	c := open(t, "rate=10G queue=9", "none",
		"dup A psn=+0 copies=2", "dup A psn=+1 by=5us", "corrupt A psn=+2 field=psn",
		"rewrite A psn=+3 field=ttl value=3", "mark A psn=+4")
	v := c.Offer(0, bytes, fault.A, packet(0))
	if v.Copies != 2 || v.Copy(v.Arrive, 1) != 2*us || v.Copy(v.Arrive, 2) != 3*us || !v.Intact() {
		t.Errorf("back-to-back copies: %+v", v)
	}
	if v = c.Offer(0, bytes, fault.A, packet(1)); v.Copies != 1 || v.Copy(v.Arrive, 1) != 7*us {
		t.Errorf("late copy: %+v", v)
	}
	if v = c.Offer(0, bytes, fault.A, packet(2)); v.Corrupt != fault.PSN || v.Intact() ||
		v.Bit(24) < 0 || v.Bit(24) > 23 {
		t.Errorf("corruption: %+v", v)
	}
	if v = c.Offer(0, bytes, fault.A, packet(3)); v.Rewrite != fault.TTL || v.Value != 3 || v.Intact() {
		t.Errorf("rewriting: %+v", v)
	}
	if v = c.Offer(0, bytes, fault.A, packet(4)); !v.Mark || v.Intact() {
		t.Errorf("mark: %+v", v)
	}
}

// all offers n packets at a distance of gap and returns the verdicts.
func all(c *Channel, n int, gap vtime.Duration) []Verdict {
	out := make([]Verdict, n)
	now := vtime.Time(0)
	for i := range out {
		now = now.Add(gap)
		out[i] = c.Offer(now, bytes, fault.A, packet(i))
	}
	return out
}

// Neither a further impairment nor other times of the packets change the draws of another impairment.
func TestStreamsAreIndependent(t *testing.T) {
	const n = 20000
	const every = "rate=10G queue=9 delay=5us jitter=2us reorder=0.1 duplicate=0.1 corrupt=0.1"
	base := all(open(t, every, "random p=0.1"), n, 10*vtime.Microsecond)
	tests := []struct {
		name string
		c    *Channel
		gap  vtime.Duration
		same func(a, b Verdict) bool
	}{
		{"other times", open(t, every, "random p=0.1"), 17 * vtime.Microsecond,
			func(a, b Verdict) bool {
				return a.Cause == b.Cause && a.Copies == b.Copies && a.Corrupt == b.Corrupt && a.Draw == b.Draw
			}},
		{"only loss", open(t, "rate=0", "random p=0.1"), vtime.Microsecond,
			func(a, b Verdict) bool { return (a.Fate == Lost) == (b.Fate == Lost) }},
		{"no loss", open(t, every, "none"), 10 * vtime.Microsecond,
			func(a, b Verdict) bool { return a.Fate == Lost || a == b }},
		{"a fault", open(t, every, "random p=0.1", "drop A psn=+2"), 10 * vtime.Microsecond,
			func(a, b Verdict) bool { return b.Cause.Kind == DroppedByFault || a == b }},
		{"no jitter", open(t, "rate=10G queue=9 delay=5us reorder=0.1 duplicate=0.1 corrupt=0.1", "random p=0.1"),
			10 * vtime.Microsecond,
			func(a, b Verdict) bool { return a.Cause == b.Cause && a.Copies == b.Copies }},
		{"no reordering", open(t, "rate=10G queue=9 delay=5us jitter=2us duplicate=0.1 corrupt=0.1", "random p=0.1"),
			10 * vtime.Microsecond,
			func(a, b Verdict) bool {
				return a.Copies == b.Copies && a.Corrupt == b.Corrupt && (a.Arrive == b.Arrive || a.Arrive == a.Sent)
			}},
		{"no duplication", open(t, "rate=10G queue=9 delay=5us jitter=2us reorder=0.1 corrupt=0.1", "random p=0.1"),
			10 * vtime.Microsecond,
			func(a, b Verdict) bool { return a.Arrive == b.Arrive && a.Corrupt == b.Corrupt }},
		{"more corruption", open(t, strings.Replace(every, "corrupt=0.1", "corrupt=1", 1), "random p=0.1"),
			10 * vtime.Microsecond,
			func(a, b Verdict) bool { return a.Arrive == b.Arrive && a.Copies == b.Copies }},
	}
	for _, tt := range tests {
		for i, v := range all(tt.c, n, tt.gap) {
			if !tt.same(base[i], v) {
				t.Errorf("%s: packet %d was %+v and became %+v", tt.name, i, base[i], v)
				break
			}
		}
	}
}

// Shares and jitter have the distribution of the Spec, within five standard deviations.
func TestShares(t *testing.T) {
	const n = 200000
	near := func(name string, got, want, deviation float64) {
		if math.Abs(got-want) > 5*deviation/math.Sqrt(n) {
			t.Errorf("%s = %v, want %v within %v", name, got, want, 5*deviation/math.Sqrt(n))
		}
	}
	share := func(name string, got uint64, p float64) { near(name, float64(got)/n, p, math.Sqrt(p*(1-p))) }
	c := open(t, "delay=5us jitter=2us reorder=0.02 duplicate=0.03 corrupt=0.04", "random p=0.05")
	var sum, squares, bits float64
	overtaken, last := 0, vtime.Time(0)
	for _, v := range all(open(t, "delay=5us jitter=2us corrupt=1", "none"), n, vtime.Microsecond) {
		d := float64(v.Arrive.Sub(v.Sent)) / float64(vtime.Microsecond)
		if d < 3 || d > 7 {
			t.Fatalf("delay of %v us is outside 5 ± 2", d)
		}
		sum, squares, bits = sum+d, squares+d*d, bits+float64(v.Bit(1000))
		if v.Arrive < last {
			overtaken++
		}
		last = v.Arrive
	}
	near("mean delay", sum/n, 5, 2/math.Sqrt(3))
	near("variance of the delay", squares/n-25, 4.0/3, 12)
	near("mean bit", bits/n, 499.5, 1000/math.Sqrt(12))
	if overtaken == 0 {
		t.Error("jitter beyond the distance of packets never lets one overtake")
	}
	all(c, n, vtime.Microsecond)
	k := c.Counters()
	share("loss", k.Lost, 0.05)
	share("reordering", k.Reordered, 0.95*0.02)
	share("duplication", k.Copies, 0.95*0.03)
	share("corruption", k.Corrupted, 0.95*0.04)
}

// Impairments of equal probability do not hit the same packets.
func TestStreamsDiffer(t *testing.T) {
	const n = 40000
	var both [4]int // loss with each of the others; last, reordering with duplication
	lossless := all(open(t, "delay=5us reorder=0.5 duplicate=0.5 corrupt=0.5", "none"), n, vtime.Microsecond)
	for i, v := range all(open(t, "rate=0", "random p=0.5"), n, vtime.Microsecond) {
		o := lossless[i]
		for j, hit := range []bool{o.Arrive == o.Sent, o.Copies > 0, o.Corrupt != ""} {
			if v.Fate == Lost && hit {
				both[j]++
			}
		}
		if o.Arrive == o.Sent && o.Copies > 0 {
			both[3]++
		}
	}
	for j, k := range both {
		if math.Abs(float64(k)-n/4) > 5*math.Sqrt(n*3.0/16) {
			t.Errorf("pair %d coincides %d times in %d, want a quarter", j, k, n)
		}
	}
}

// Both ends of the jitter are reached as often as any value between.
func TestJitterEnds(t *testing.T) {
	const n = 30000
	count := map[vtime.Duration]int{}
	c := open(t, "delay=5ps jitter=1ps", "none")
	for _, v := range all(c, n, vtime.Microsecond) {
		count[v.Arrive.Sub(v.Sent)]++
	}
	for d := vtime.Duration(4); d <= 6; d++ {
		if math.Abs(float64(count[d])-n/3) > 5*math.Sqrt(n*2.0/9) {
			t.Errorf("delay of %s for %d of %d packets, want a third", d, count[d], n)
		}
	}
}

// Without jitter, reordering and faults, packets arrive in the order of sending, and every packet is accounted for.
func TestOrderAndConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := spec.Link{Rate: unit.Rate(rapid.Int64Range(0, 1e10).Draw(t, "rate")), Queue: rapid.IntRange(1, 5).Draw(t,
			"queue"), Delay: vtime.Microsecond, Loss: spec.Loss{Model: spec.Bernoulli, P: 0.2}}
		c, err := New(l, nil, rapid.Uint64().Draw(t, "seed"))
		if err != nil {
			t.Fatal(err)
		}
		now, last := vtime.Time(0), vtime.Time(0)
		for i := range rapid.IntRange(1, 100).Draw(t, "packets") {
			now = now.Add(vtime.Duration(rapid.Int64Range(0, int64(2*vtime.Microsecond)).Draw(t, "gap")))
			v := c.Offer(now, rapid.IntRange(64, 9000).Draw(t, "bytes"), fault.A, packet(i))
			if v.Sent < now || v.Fate == Delivered && v.Arrive < last {
				t.Fatalf("packet %d offered at %d: %+v after an arrival at %d", i, now, v, last)
			}
			if v.Fate == Delivered {
				last = v.Arrive
			}
			if want := (Verdict{Arrive: vtime.Never, Sent: v.Sent, Cause: v.Cause}); v.Fate == Lost && v != want {
				t.Fatalf("lost packet: %+v", v)
			}
		}
		if k := c.Counters(); k.Offered != k.Delivered+k.Lost+k.Overflow+k.Dropped || k.QueueMax > l.Queue {
			t.Fatalf("counters do not add up: %+v", k)
		}
	})
}

func TestSeeds(t *testing.T) {
	l := spec.Link{Delay: vtime.Millisecond, Jitter: vtime.Microsecond, Loss: spec.Loss{Model: spec.Bernoulli, P: 0.5}}
	run := func(seed uint64) []Verdict {
		c, err := New(l, nil, seed)
		if err != nil {
			t.Fatal(err)
		}
		return all(c, 1000, vtime.Microsecond)
	}
	a, b, other, same := run(1), run(1), run(2), 0
	for i := range a {
		if a[i] != b[i] {
			t.Fatalf("packet %d differs under one seed", i)
		}
		if a[i].Fate == other[i].Fate {
			same++
		}
	}
	if same < 400 || same > 600 {
		t.Errorf("neighbouring seeds agree on %d of 1000 losses", same)
	}
}

func TestIdentityTape(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tape")
	text := "gauntlet-tape 1\nkey identity\nseed 0\nlost qp=0 psn=+1 tx=1 class=DATA\nlost qp=0 psn=+1 tx=3\nend 2\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := open(t, "rate=0", "tape file="+file)
	got := ""
	for _, psn := range []int{0, 1, 1, 1, 1, 2} {
		got += c.Offer(0, bytes, fault.A, packet(psn)).Fate.String()[:1]
	}
	if got != "dldldd" {
		t.Errorf("fates %s, want dldldd", got)
	}
	ack := fault.Identity{PSN: 1, Offset: 1, Type: "ACK", Class: fault.ACK}
	if v := c.Offer(0, bytes, fault.A, ack); v.Fate != Delivered {
		t.Errorf("the tape of a data packet loses its acknowledgement: %+v", v)
	}
}

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		link spec.Link
		want string
	}{
		{spec.Link{Rate: 1}, "channel: link: rate=1 needs a queue"},
		{spec.Link{Loss: spec.Loss{Model: "rain"}}, `channel: loss: unknown model "rain"`},
		{spec.Link{Loss: spec.Loss{Model: spec.Tape, File: "/absent"}}, "channel: tape: open /absent"},
	}
	for _, tt := range tests {
		if _, err := New(tt.link, nil, 0); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

func TestNames(t *testing.T) {
	tests := map[string]fmt.Stringer{
		"": Cause{}, "loss": Cause{Kind: Loss}, "queue": Cause{Kind: Queue}, "drop[3]": Cause{DroppedByFault, 3},
		"dup[0]": Cause{Kind: DuplicatedByFault}, "corrupt": Cause{Kind: CorruptedAtRandom},
		"corrupt[1]": Cause{CorruptedByFault, 1},
		"cause 99":   Cause{Kind: 99}, "held": Held, "fate 9": Fate(9),
	}
	for want, x := range tests {
		if x.String() != want {
			t.Errorf("%#v prints as %q, want %q", x, x.String(), want)
		}
	}
	for k := DelayedByFault; k < kinds; k++ {
		if words[k] == "" {
			t.Errorf("kind %d has no word", k)
		}
	}
}

const busy = "rate=10G queue=1000 delay=20ms jitter=1ms reorder=0.1% duplicate=0.1% corrupt=0.01%"

func TestNoAllocation(t *testing.T) {
	c := open(t, busy, "gemodel p=0.01 r=0.3", "drop A psn=+2 tx=1", "reorder A nth=500 behind=3 count=100")
	now, i := vtime.Time(0), 0
	if n := testing.AllocsPerRun(5000, func() {
		c.Offer(now, bytes, fault.A, packet(i&1023))
		c.Release(now)
		now, i = c.Free(), i+1
	}); n != 0 {
		t.Errorf("%v allocations per packet", n)
	}
}

func BenchmarkOffer(b *testing.B) {
	for _, bb := range []struct {
		name, link, loss string
		faults           []string
	}{
		{"clean", "rate=10G queue=1000 delay=20ms", "none", nil},
		{"loss", "rate=10G queue=1000 delay=20ms", "random p=1e-4", nil},
		{"everything", busy, "gemodel p=0.01 r=0.3", []string{"drop A psn=+2 tx=1", "drop B type=NAK nth=1"}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			c := open(b, bb.link, bb.loss, bb.faults...)
			id := packet(0)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				id.PSN, id.Offset = uint32(i)&1023, i&1023
				c.Offer(c.Free(), bytes, fault.A, id)
				c.Release(c.Free())
			}
		})
	}
}
