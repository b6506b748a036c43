package tc

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

func TestTranslate(t *testing.T) {
	seed := uint64(7)
	link := spec.Link{
		Rate: 100e6, Delay: 20 * vtime.Millisecond, Jitter: vtime.Millisecond, Queue: 1000,
		Reorder: 0.02, Duplicate: 0.005, Corrupt: 0.001,
		Loss: spec.Loss{Model: spec.Gilbert, P: 0.01, R: 0.3, H: 0.3, K: 0.999},
	}
	got, err := Translate(link, Options{Packet: 1106, Seed: &seed})
	if err != nil {
		t.Fatal(err)
	}
	want := Netem{
		Latency: 20e6, Jitter: 1e6, Rate: 12_500_000, Overhead: 24, Gap: 1, Seed: &seed,
		Limit:   1000 + 238 + 1, // queue, 12.5 MB/s for 21 ms in packets of 1106 bytes, and the one on the line
		Reorder: probability(0.02), Duplicate: probability(0.005), Corrupt: probability(0.001),
		// iproute2 sends "gemodel 1% 30% 70% 0.1%" so: survival in the bad state, loss in the good state.
		GE: &GE{P: 0x028F5C29, R: 0x4CCCCCCC, H: 0x4CCCCCCD, K1: 0x00418937},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A link dilated by 64 has a 64th of the rate and 64 times the delay; numbers of packets and probabilities are the
// same.
func TestTranslateDilated(t *testing.T) {
	link := spec.Link{Rate: 10e9, Delay: 20 * vtime.Millisecond, Jitter: vtime.Millisecond, Queue: 1000,
		Loss: spec.Loss{Model: spec.Bernoulli, P: 1e-4}}
	plain, err := Translate(link, Options{Packet: 1106})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Translate(link.Dilated(64), Options{Packet: 1106})
	want := plain
	want.Latency, want.Jitter, want.Rate = 64*plain.Latency, 64*plain.Jitter, plain.Rate/64
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if back := link.Dilated(1); back != link {
		t.Errorf("a factor of 1 changed %s to %s", link, back)
	}
	if slow := (spec.Link{Rate: 3, Queue: 1}).Dilated(1024); slow.Rate != 1 {
		t.Errorf("a rate of 3 b/s became %d", slow.Rate)
	}
}

// In the extremes, the kernel's fields of a Gilbert channel lose all packets in the bad state and none in the good one.
func TestGilbertMeaning(t *testing.T) {
	plain, err := Translate(linkOf(spec.Loss{Model: spec.Gilbert, P: 0.1, R: 0.5, H: 0, K: 1}), Options{Packet: 1106})
	if err != nil || plain.GE.H != 0 || plain.GE.K1 != 0 {
		t.Errorf("a plain Gilbert channel loses all in the bad and none in the good state: %+v, %v", plain.GE, err)
	}
	inverse, err := Translate(linkOf(spec.Loss{Model: spec.Gilbert, P: 0.1, R: 0.5, H: 1, K: 0}), Options{Packet: 1106})
	if err != nil || inverse.GE.H != certain || inverse.GE.K1 != certain {
		t.Errorf("the inverse channel: %+v, %v", inverse.GE, err)
	}
}

func TestTranslateRefusals(t *testing.T) {
	ok := Options{Packet: 1106}
	for name, c := range map[string]struct {
		link spec.Link
		opt  Options
		says string
		typ  bool // the error is ErrUnsupported
	}{
		"burst": {linkOf(spec.Loss{Model: spec.Sojourn, P: 1e-4, H: 1, Length: 8}), ok,
			"fixed sojourn of 8 packets", true},
		"tape": {linkOf(spec.Loss{Model: spec.Tape, File: "fades.tape"}), ok, "fades.tape", true},
		"slots": {linkOf(spec.Loss{Model: spec.Bernoulli, P: 0.1, Slot: vtime.Millisecond}),
			ok, "slots", true},
		"reorder":        {spec.Link{Queue: 1, Reorder: 0.1}, ok, "reorder", true},
		"jitter":         {spec.Link{Queue: 1, Delay: 3 * vtime.Second, Jitter: 3 * vtime.Second}, ok, "jitter", true},
		"rate":           {spec.Link{Queue: 1, Rate: 3}, ok, "rate 3", true},
		"no packet size": {spec.Link{Queue: 1}, Options{}, "Options.Packet", false},
		"invalid link":   {spec.Link{Queue: 1, Corrupt: 2}, ok, "corrupt", false},
	} {
		_, err := Translate(c.link, c.opt)
		if err == nil || !strings.Contains(err.Error(), c.says) || errors.Is(err, ErrUnsupported) != c.typ {
			t.Errorf("%s: %v; want %q, unsupported %v", name, err, c.says, c.typ)
		}
		if c.typ && err != nil && !strings.Contains(err.Error(), "use the relay") {
			t.Errorf("%s: no remedy in %q", name, err)
		}
	}
}

func TestLimit(t *testing.T) {
	for _, c := range []struct {
		link spec.Link
		want uint32
	}{
		{spec.Link{Rate: 1e9, Delay: 10 * vtime.Millisecond, Queue: 50}, 50 + 1131 + 1},
		{spec.Link{Rate: 1e9, Queue: 50}, 51},
		{spec.Link{Delay: 10 * vtime.Millisecond, Queue: 50}, 50 + 20000 + 1},
	} {
		got, err := Limit(c.link, 1106)
		if err != nil || got != c.want {
			t.Errorf("%s: limit %d, %v; want %d", c.link, got, err, c.want)
		}
	}
	if _, err := Limit(spec.Link{Delay: 3000 * vtime.Second, Queue: 1}, 84); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a limit beyond 32 bits: %v", err)
	}
}

func TestCompareNamesDifferences(t *testing.T) {
	seed, other := uint64(1), uint64(2)
	want := Netem{Latency: 1000, Limit: 5, Loss: 9, Seed: &seed}
	got := want
	got.Latency, got.Seed, got.Limit = 1001, &other, 5
	err := mismatch(Compare(want, got))
	if err == nil || !strings.Contains(err.Error(), "delay is 1001 ns, want 1000 ns; seed is 2, want 1") {
		t.Errorf("got %v", err)
	}
	want.Seed = nil
	got.Latency = 1000
	if err := mismatch(Compare(want, got)); err != nil {
		t.Errorf("the kernel's own seed counted as a difference: %v", err)
	}
}

// linkOf returns a valid link with a loss.
func linkOf(l spec.Loss) spec.Link {
	return spec.Link{Rate: 100e6, Delay: 20 * vtime.Millisecond, Queue: 100, Loss: l}
}
