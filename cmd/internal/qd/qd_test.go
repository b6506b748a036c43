package qd

import (
	"bytes"
	"strings"
	"testing"
)

// TestQD: the path of the paper (NTT 4.1), with the throughput at lower depths.
func TestQD(t *testing.T) {
	f := Path{RTT: "1ms", Rate: "100G", MTU: 4096, Cap: 1000}
	p, err := New(f)
	if err != nil {
		t.Fatal(err)
	}
	if p.Floor != 2991 || p.Depth != 2992 || p.Frame != 4178 || !p.Clamped {
		t.Errorf("depth %d to %d, frame %d, clamped %v; want 2991 to 2992, 4178, true", p.Floor, p.Depth,
			p.Frame, p.Clamped)
	}
	for i := 1; i < len(p.Throughput); i++ {
		if a, b := p.Throughput[i-1], p.Throughput[i]; a.Depth >= b.Depth || a.Payload >= b.Payload {
			t.Errorf("depth %d gives %d, depth %d gives %d: want a rising table", a.Depth, a.Payload,
				b.Depth, b.Payload)
		}
	}
	var out bytes.Buffer
	if err := p.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2992", "2991 rounded down", "the device's cap", "perftest's default", "98.0 Gb/s"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestQDRejects(t *testing.T) {
	for _, tc := range []struct {
		want   string
		change func(*Path)
	}{
		{"RTT", func(f *Path) { f.RTT = "0s" }},
		{"RTT", func(f *Path) { f.RTT = "-1ms" }},
		{"--rtt", func(f *Path) { f.RTT = "long" }},
		{"rate", func(f *Path) { f.Rate = "0" }},
		{"--rate", func(f *Path) { f.Rate = "-1G" }},
		{"--mtu", func(f *Path) { f.MTU = 1500 }},
		{"--msg", func(f *Path) { f.Message = "0" }},
		{"--msg", func(f *Path) { f.Message = "3GiB" }},
		{"--cap", func(f *Path) { f.Cap = 0 }},
		{"2^31", func(f *Path) { f.RTT = "1000000s" }},
	} {
		f := Path{RTT: "1ms", Rate: "100G", MTU: 4096, Cap: 1000}
		tc.change(&f)
		if _, err := New(f); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want an error about %s", f, err, tc.want)
		}
	}
}
