package certify

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/loss"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

const us, ms = vtime.Microsecond, vtime.Millisecond

// item returns the named item of a certificate for one direction, or nil.
func item(m Measured, name string) *Item {
	m.Direction = "A>B"
	for _, i := range Certify("before", DefaultBounds(), m).Items {
		if i.Name == "A>B "+name {
			return &i
		}
	}
	return nil
}

// delays returns n equal delays, the last of them replaced.
func delays(n int, d, last vtime.Duration) *Probes {
	p := &Probes{Sent: n, WireBytes: 1250}
	for range n - 1 {
		p.Delays = append(p.Delays, d)
	}
	p.Delays = append(p.Delays, last)
	return p
}

// Each bound is tested on both sides.
func TestBounds(t *testing.T) {
	wan := spec.Link{Rate: 100e6, Delay: 20 * ms} // 5 % are 1 ms; a probe of 1250 bytes takes 100 us
	near := spec.Link{Rate: 100e6, Delay: 1 * ms} // 5 % are less than the 500 us that are always allowed
	jittery := spec.Link{Delay: 20 * ms, Jitter: 5 * ms}
	seven := uint64(7)
	random := spec.Link{Loss: spec.Loss{Model: spec.Bernoulli, P: 0.01}}
	gilbert := spec.Link{Loss: spec.Loss{Model: spec.Gilbert, P: 0.01, R: 0.25, K: 1}}
	for _, c := range []struct {
		name string
		at   string
		m    Measured
		ok   bool
	}{
		{"probes", "just enough", Measured{Probes: delays(20, 0, 0)}, true},
		{"probes", "one too few", Measured{Probes: delays(19, 0, 0)}, false},
		{"probes", "none", Measured{Probes: &Probes{Sent: 50}}, false},
		{"delay p50", "exact", Measured{Link: wan, Probes: delays(100, 20100*us, 20100*us)}, true},
		{"delay p50", "upper end", Measured{Link: wan, Probes: delays(100, 21100*us, 0)}, true},
		{"delay p50", "above", Measured{Link: wan, Probes: delays(100, 21101*us, 0)}, false},
		{"delay p50", "lower end", Measured{Link: wan, Probes: delays(100, 19100*us, 0)}, true},
		{"delay p50", "below", Measured{Link: wan, Probes: delays(100, 19099*us, 0)}, false},
		{"delay p50", "upper end of a short delay", Measured{Link: near, Probes: delays(100, 1600*us, 0)}, true},
		{"delay p50", "above a short delay", Measured{Link: near, Probes: delays(100, 1601*us, 0)}, false},
		{"delay p50", "one stall", Measured{Link: wan, Probes: delays(21, 20100*us, 900*ms)}, true},
		{"delay p99", "upper end", Measured{Link: wan, Probes: delays(2, 0, 24100*us)}, true},
		{"delay p99", "jitter is allowed", Measured{Link: jittery, Probes: delays(20, 29*ms, 29*ms)}, true},
		{"delay p99", "more than jitter", Measured{Link: jittery, Probes: delays(20, 29*ms+us, 29*ms+us)}, false},
		{"rate", "exact", Measured{Link: wan, Burst: &Burst{Arrived: 101, WireBytes: 1250, Span: 10 * ms}}, true},
		{"rate", "5 % slow", Measured{Link: wan, Burst: &Burst{Arrived: 96, WireBytes: 1250, Span: 10 * ms}}, true},
		{"rate", "6 % slow", Measured{Link: wan, Burst: &Burst{Arrived: 95, WireBytes: 1250, Span: 10 * ms}}, false},
		{"rate", "5 % fast", Measured{Link: wan, Burst: &Burst{Arrived: 106, WireBytes: 1250, Span: 10 * ms}}, true},
		{"rate", "6 % fast", Measured{Link: wan, Burst: &Burst{Arrived: 107, WireBytes: 1250, Span: 10 * ms}}, false},
		{"rate", "one packet", Measured{Link: wan, Burst: &Burst{Arrived: 1, WireBytes: 1250, Span: 10 * ms}}, false},
		{"losses seen", "exact", Measured{Losses: &Losses{Sent: 100, Lost: 7, Decided: &seven}}, true},
		{"losses seen", "one more", Measured{Losses: &Losses{Sent: 100, Lost: 8, Decided: &seven}}, false},
		{"corruptions seen", "exact", Measured{Tallies: []Tally{{"copies", 1, 2}, {"corruptions", 31, 31}}}, true},
		{"corruptions seen", "one more", Measured{Tallies: []Tally{{"corruptions", 31, 32}}}, false},
		{"copies seen", "one less", Measured{Tallies: []Tally{{"copies", 31, 30}}}, false},
		{"losses seen", "one less", Measured{Losses: &Losses{Sent: 100, Lost: 6, Decided: &seven}}, false},
		// 10^6 packets at 1 %: 10000 ± 5·99.5·sqrt(2/0.99-1) ± 5/0.99, which is ± 508
		{"loss", "upper end", Measured{Link: random, Losses: &Losses{Sent: 1e6, Lost: 10507}}, true},
		{"loss", "above", Measured{Link: random, Losses: &Losses{Sent: 1e6, Lost: 10509}}, false},
		{"loss", "lower end", Measured{Link: random, Losses: &Losses{Sent: 1e6, Lost: 9493}}, true},
		{"loss", "below", Measured{Link: random, Losses: &Losses{Sent: 1e6, Lost: 9491}}, false},
		{"loss", "none wanted, none seen", Measured{Losses: &Losses{Sent: 1e6}}, true},
		{"loss", "none wanted, one seen", Measured{Losses: &Losses{Sent: 1e6, Lost: 1}}, false},
		{"loss", "too few packets to tell", Measured{Link: random, Losses: &Losses{Sent: 100}}, true},
		// runs of 4 on average, 10^4 of them: ± 5·4/100
		{"loss run", "upper end", Measured{Link: gilbert, Losses: &Losses{Sent: 1e6, Lost: 41990, Runs: 1e4}}, true},
		{"loss run", "above", Measured{Link: gilbert, Losses: &Losses{Sent: 1e6, Lost: 42010, Runs: 1e4}}, false},
		{"loss run", "lower end", Measured{Link: gilbert, Losses: &Losses{Sent: 1e6, Lost: 38010, Runs: 1e4}}, true},
		{"loss run", "below", Measured{Link: gilbert, Losses: &Losses{Sent: 1e6, Lost: 37990, Runs: 1e4}}, false},
		{"duplication", "none", Measured{Changes: &Changes{Delivered: 9}}, true},
		{"duplication", "one unasked", Measured{Changes: &Changes{Delivered: 9, Duplicated: 1}}, false},
		{"corruption", "one unasked", Measured{Changes: &Changes{Delivered: 9, Corrupted: 1}}, false},
		{"corruption", "as asked", Measured{Link: spec.Link{Corrupt: 0.01}, Changes: &Changes{Delivered: 1e4,
			Corrupted: 110}}, true},
		{"corruption", "none of many",
			Measured{Link: spec.Link{Corrupt: 0.01}, Changes: &Changes{Delivered: 1e4}}, false},
		{"reordering", "none", Measured{Changes: &Changes{Delivered: 9}}, true},
		{"reordering", "one unasked", Measured{Changes: &Changes{Delivered: 9, Reordered: 1}}, false},
		{"reordering", "asked and missing",
			Measured{Link: spec.Link{Reorder: 0.1}, Changes: &Changes{Delivered: 1e4}}, false},
		{"reordering", "asked and seen",
			Measured{Link: spec.Link{Reorder: 0.1}, Changes: &Changes{Delivered: 1e4, Reordered: 1}}, true},
		{"capture drops", "none", Measured{Capture: &Capture{Frames: 9}}, true},
		{"capture drops", "one", Measured{Capture: &Capture{Frames: 9, Drops: 1}}, false},
		{"capture swaps", "none", Measured{Capture: &Capture{Frames: 9}}, true},
		{"capture swaps", "one", Measured{Capture: &Capture{Frames: 9, Swapped: 1}}, false},
		{"overflow", "none", Measured{Schedule: &Schedule{}}, true},
		{"overflow", "one", Measured{Schedule: &Schedule{Overflow: 1}}, false},
		{"lateness p99", "at the bound", Measured{Link: wan, Schedule: &Schedule{LateP99: 1 * ms}}, true},
		{"lateness p99", "above", Measured{Link: wan, Schedule: &Schedule{LateP99: 1*ms + 1}}, false},
		{"longest stall", "at the bound", Measured{Link: near, Schedule: &Schedule{LateMax: 20 * ms}}, true},
		{"longest stall", "above", Measured{Link: near, Schedule: &Schedule{LateMax: 20*ms + 1}}, false},
		{"longest stall", "a long link", Measured{Link: spec.Link{Delay: 80 * ms},
			Schedule: &Schedule{LateMax: 80 * ms}}, true},
	} {
		i := item(c.m, c.name)
		if i == nil {
			t.Errorf("%s, %s: no such item", c.name, c.at)
			continue
		}
		if i.OK != c.ok {
			t.Errorf("%s, %s: ok %v; want %s, got %s, bound %s", c.name, c.at, i.OK, i.Want, i.Got, i.Bound)
		}
	}
}

// TestProperties checks the property that each item certifies; no item is left to certify everything.
func TestProperties(t *testing.T) {
	seven := uint64(7)
	m := Measured{
		Link: spec.Link{Rate: 100e6}, Probes: delays(20, 0, 0), Burst: &Burst{Arrived: 2, WireBytes: 1250, Span: ms},
		Losses: &Losses{Sent: 100, Lost: 7, Runs: 30, Decided: &seven}, Changes: &Changes{Delivered: 9},
		Capture: &Capture{}, Schedule: &Schedule{},
	}
	m.Link.Loss = spec.Loss{Model: spec.Bernoulli, P: 0.1}
	want := map[string]validity.Property{
		"probes": validity.Delay, "delay p50": validity.Delay, "delay p99": validity.Delay, "rate": validity.Rate,
		"losses seen": validity.Accounts, "loss": validity.Loss, "loss run": validity.Loss,
		"duplication": validity.Order, "corruption": validity.Order, "reordering": validity.Order,
		"capture drops": validity.Capture, "capture swaps": validity.Capture,
		"overflow": validity.Accounts | validity.Loss, "lateness p99": validity.Lateness,
		"longest stall": validity.Lateness,
	}
	got := map[string]validity.Property{}
	for _, i := range Certify("during", DefaultBounds(), m).Items {
		got[i.Name] = i.Property
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAgainst: a certificate counts against evidence that rests on a failed property.
func TestAgainst(t *testing.T) {
	late, lossy := Item{Name: "late", Property: validity.Lateness}, Item{Name: "lossy", Property: validity.Loss}
	good, vague := Item{Name: "good", OK: true, Property: validity.Capture}, Item{Name: "vague"}
	for _, c := range []struct {
		name  string
		items []Item
		want  map[validity.Property]string // by the property on which the evidence rests: the item that is named
	}{
		{"valid", []Item{good}, map[validity.Property]string{0: "", validity.Frames: "", validity.Everything: ""}},
		{"late and lossy", []Item{good, late, lossy}, map[validity.Property]string{
			validity.Frames: "", validity.Sequence: "", validity.Reaction: "late", validity.Path: "late",
			validity.Everything: "late", 0: "late", validity.Loss: "lossy",
		}},
		{"nobody knows what", []Item{vague}, map[validity.Property]string{validity.Frames: "vague",
			validity.Reaction: "vague", 0: "vague"}},
		{"nothing measured", nil, map[validity.Property]string{validity.Frames: "",
			validity.Sequence: "nothing was measured", 0: "nothing was measured"}},
	} {
		good, bad := Issue("before", []Item{good}), Issue("during", c.items)
		for rests, want := range c.want {
			got := Against([]Certificate{good, bad}, rests)
			if (got == "") != (want == "") ||
				!strings.HasPrefix(got, "link certificate during the run: "+want) && want != "" {
				t.Errorf("%s, evidence rests on %v: %q, want %q", c.name, rests, got, want)
			}
		}
	}
}

// The item of a link that is too slow has the remedy; that of a link that is too fast has another cause.
func TestSlowLinkNamesTheRemedy(t *testing.T) {
	for arrived, slow := range map[int]bool{95: true, 101: false, 107: false} {
		i := item(Measured{Link: spec.Link{Rate: 100e6}, Burst: &Burst{Arrived: arrived, WireBytes: 1250,
			Span: 10 * ms}}, "rate")
		if strings.Contains(i.Bound, "lower the rate") != slow {
			t.Errorf("%d packets: %s", arrived, i.Bound)
		}
	}
}

// A measurement without a statement about the link yields no item.
func TestOmissions(t *testing.T) {
	for name, m := range map[string]Measured{
		"rate": {Burst: &Burst{Arrived: 100, WireBytes: 1250, Span: ms}}, // unlimited
		"loss": {Link: spec.Link{Loss: spec.Loss{Model: spec.Tape}}, Losses: &Losses{Sent: 100, Lost: 50}},
		"loss run": {Link: spec.Link{Loss: spec.Loss{Model: spec.Bernoulli, P: 0.5}},
			Losses: &Losses{Sent: 100, Lost: 50, Runs: 29}},
		"reordering": {Link: spec.Link{Delay: ms, Jitter: ms}, Changes: &Changes{Delivered: 100, Reordered: 30}},
		"delay p50":  {Probes: &Probes{Sent: 10}},
	} {
		if i := item(m, name); i != nil {
			t.Errorf("%s: %+v", name, i)
		}
	}
}

// The bounds fit the loss processes: of 20 seeded runs of each all are valid, and a process with twice the loss rate is
// not.
func TestRealProcessesPass(t *testing.T) {
	const packets = 200_000
	seeds := uint64(20)
	if testing.Short() {
		seeds = 2
	}
	for _, l := range []spec.Loss{
		{Model: spec.Bernoulli, P: 1e-4},
		{Model: spec.Bernoulli, P: 0.3},
		{Model: spec.Gilbert, P: 0.001, R: 0.1, K: 1},
		{Model: spec.Gilbert, P: 0.01, R: 0.3, H: 0.5, K: 0.999},
		{Model: spec.Markov4, P13: 0.005, P31: 0.2, P32: 0.1, P14: 0.001, P23: 0.5},
		{Model: spec.Sojourn, P: 1e-3, H: 0.5, Length: 16},
	} {
		twice := l
		twice.P, twice.P13, twice.P14 = 2*l.P, 2*l.P13, 2*l.P14
		caught := 0
		for seed := range seeds {
			if c := Certify("during", DefaultBounds(), observe(t, l, l, seed, packets)); !c.Valid {
				t.Errorf("%s seed %d: %s", l, seed, c.Reason)
			}
			if c := Certify("during", DefaultBounds(), observe(t, l, twice, seed, packets)); !c.Valid {
				caught++
			}
		}
		if l.Mean() > 1e-3 && caught < int(seeds-seeds/10) {
			t.Errorf("%s: twice the loss rate was caught %d times of %d", l, caught, seeds)
		}
	}
}

// observe runs the loss process real and returns the measurement as if the Spec had said want.
func observe(t *testing.T, want, real spec.Loss, seed uint64, packets int) Measured {
	t.Helper()
	p, err := loss.New(real, rand.NewPCG(seed, 1).Uint64())
	if err != nil {
		t.Fatal(err)
	}
	l := &Losses{Sent: uint64(packets)}
	before := false
	for range packets {
		lost := p.Lose(0)
		if lost {
			l.Lost++
			if !before {
				l.Runs++
			}
		}
		before = lost
	}
	return Measured{Link: spec.Link{Loss: want}, Losses: l}
}

// With slots losses come in groups as large as the traffic of a slot.
func TestSlotsWidenTheBound(t *testing.T) {
	slotted := spec.Link{Loss: spec.Loss{Model: spec.Bernoulli, P: 0.1, Slot: ms}}
	dense := Measured{Link: slotted, Losses: &Losses{Sent: 10000, Lost: 2000, Over: 100 * ms}} // 100 slots
	// a packet every two slots
	sparse := Measured{Link: slotted, Losses: &Losses{Sent: 10000, Lost: 2000, Over: 20000 * ms}}
	if i := item(dense, "loss"); i == nil || !i.OK {
		t.Errorf("20 of 100 slots at 10 %%: %+v", i)
	}
	if i := item(sparse, "loss"); i == nil || i.OK {
		t.Errorf("2000 of 10000 slots at 10 %%: %+v", i)
	}
}

func TestCertificate(t *testing.T) {
	good := Measured{Direction: "A>B", Capture: &Capture{Frames: 5}}
	bad := Measured{Direction: "B>A", Capture: &Capture{Frames: 5, Drops: 2}, Schedule: &Schedule{Overflow: 1}}
	if c := Certify("after", DefaultBounds(), good); !c.Valid || c.Reason != "" || c.When != "after" {
		t.Errorf("%+v", c)
	}
	c := Certify("after", DefaultBounds(), good, bad)
	if c.Valid || !strings.HasPrefix(c.Reason, "B>A capture drops is 2, want 0: ") {
		t.Errorf("reason %q", c.Reason)
	}
	if c := Certify("before", DefaultBounds()); c.Valid || c.Reason == "" {
		t.Errorf("nothing measured: %+v", c)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var again Certificate
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, again); diff != "" {
		t.Error(diff)
	}
}

// Extremes give items, not NaN or a panic.
func TestExtremes(t *testing.T) {
	always := spec.Loss{Model: spec.Gilbert, P: 1, R: 0, K: 1}
	m := Measured{
		Link:   spec.Link{Rate: 1, Delay: 1 << 62, Loss: always},
		Probes: &Probes{Sent: -1, Delays: []vtime.Duration{-5}}, Burst: &Burst{Arrived: 2},
		Losses: &Losses{Sent: 10, Lost: 10, Runs: 1}, Changes: &Changes{}, Capture: &Capture{}, Schedule: &Schedule{},
	}
	for _, i := range Certify("before", DefaultBounds(), m).Items {
		if strings.Contains(i.Want+i.Got+i.Bound, "NaN") {
			t.Errorf("%+v", i)
		}
	}
	if i := item(m, "loss"); i == nil || !i.OK {
		t.Errorf("a channel that loses everything lost everything: %+v", i)
	}
}
