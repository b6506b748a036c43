package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestQD: the paper's path (NTT 4.1), with what a device below it gives.
func TestQD(t *testing.T) {
	f := qdFlags{rtt: "1ms", rate: "100G", mtu: 4096, cap: 1000}
	p, err := f.plan()
	if err != nil {
		t.Fatal(err)
	}
	if p.Floor != 2991 || p.Depth != 2992 || p.Frame != 4178 || !p.Clamped {
		t.Errorf("depth %d to %d, frame %d, clamped %v; want 2991 to 2992, 4178, true", p.Floor, p.Depth, p.Frame, p.Clamped)
	}
	for i := 1; i < len(p.Throughput); i++ {
		if a, b := p.Throughput[i-1], p.Throughput[i]; a.Depth >= b.Depth || a.Payload >= b.Payload {
			t.Errorf("depth %d gives %d, depth %d gives %d: want a rising table", a.Depth, a.Payload, b.Depth, b.Payload)
		}
	}
	var out bytes.Buffer
	if err := p.print(&out); err != nil {
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
		change func(*qdFlags)
	}{
		{"RTT", func(f *qdFlags) { f.rtt = "0s" }},
		{"RTT", func(f *qdFlags) { f.rtt = "-1ms" }},
		{"--rtt", func(f *qdFlags) { f.rtt = "long" }},
		{"rate", func(f *qdFlags) { f.rate = "0" }},
		{"--rate", func(f *qdFlags) { f.rate = "-1G" }},
		{"--mtu", func(f *qdFlags) { f.mtu = 1500 }},
		{"--msg", func(f *qdFlags) { f.msg = "0" }},
		{"--msg", func(f *qdFlags) { f.msg = "3GiB" }},
		{"--cap", func(f *qdFlags) { f.cap = 0 }},
		{"2^31", func(f *qdFlags) { f.rtt = "1000000s" }},
	} {
		f := qdFlags{rtt: "1ms", rate: "100G", mtu: 4096, cap: 1000}
		tc.change(&f)
		if _, err := f.plan(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want an error about %s", f, err, tc.want)
		}
	}
}
