package scenario

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func lineByLine(t *testing.T, lines ...string) *Spec {
	t.Helper()
	s := Default()
	for _, l := range lines {
		if err := s.Line(l); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Both sides of each bound: the smallest sufficient value has no warning, and one less has a warning with that value.
func TestWarnings(t *testing.T) {
	tests := []struct {
		lines []string
		want  []string
	}{
		{nil, nil},
		// 1106 bytes at 1 Gb/s and 10 ms: 1 250 000 / 1106 = 1130.2 packets.
		{[]string{"link rate=1G delay=5ms queue=1131"}, nil},
		{[]string{"link rate=1G delay=5ms queue=1130"}, []string{
			"link A>B: queue=1130 is below the bandwidth-delay product; bursts will overflow it, " +
				"use queue=1131 or more",
			"link B>A: queue=1130 is below the bandwidth-delay product; bursts will overflow it, " +
				"use queue=1131 or more"}},
		{[]string{"link B>A rate=1G queue=1130", "link delay=5ms"}, []string{
			"link B>A: queue=1130 is below the bandwidth-delay product; bursts will overflow it, " +
				"use queue=1131 or more"}},
		{[]string{"link rate=1G delay=0 queue=1"}, nil},
		// Code 14 is 67.108864 ms, which covers an RTT of 44.739242666 ms.
		{[]string{"link delay=22369us"}, nil},
		{[]string{"link delay=22370us"}, []string{
			"qp A: transport timer 67108864ns is below 1.5 RTT (67110us); expect spurious timeouts, " +
				"use timeout=15 or more",
			"qp B: transport timer 67108864ns is below 1.5 RTT (67110us); expect spurious timeouts, " +
				"use timeout=15 or more"}},
		{[]string{"link delay=10ms", "qp A rto=30ms"}, nil},
		{[]string{"link delay=10ms", "qp A rto=29999us"}, []string{
			"qp A: transport timer 29999us is below 1.5 RTT (30ms); expect spurious timeouts, use rto=30ms or more"}},
		{[]string{"link delay=3600s", "qp B timeout=0"}, []string{
			"qp A: transport timer 67108864ns is below 1.5 RTT (10800s); expect spurious timeouts, " +
				"use rto=10800s or more"}},
		{[]string{"link delay=1s", "qp timeout=0"}, nil}, // no timer that could be too short
	}
	for _, tt := range tests {
		if d := cmp.Diff(tt.want, lineByLine(t, tt.lines...).Warnings()); d != "" {
			t.Errorf("%q: -want +got\n%s", tt.lines, d)
		}
	}
}

func TestFitTimeout(t *testing.T) {
	for _, tt := range []struct {
		delay string
		want  int
	}{{"0", 14}, {"22369us", 14}, {"22370us", 15}, {"1s", 20}, {"2932s", 31}} {
		s := lineByLine(t, "link delay="+tt.delay)
		s.FitTimeout()
		if got := s.QP[0].Timeout; int(got) != tt.want || s.QP[1].Timeout != got {
			t.Errorf("delay %s: timeout code %d and %d, want %d", tt.delay, got, s.QP[1].Timeout, tt.want)
		}
		if w := s.Warnings(); len(w) != 0 {
			t.Errorf("delay %s: a fitted timeout still brings %q", tt.delay, w)
		}
	}
}

// The numbers of all connections and sides differ, so that no two look the same in a capture.
func TestEnds(t *testing.T) {
	s := lineByLine(t, "qp count=10000 receives=600", "post-receive len=5", "param cap=3")
	seen := map[uint32]bool{}
	for i := range s.QPs {
		e := s.Ends(i)
		if e[0].QPN != e[1].DestQPN || e[1].QPN != e[0].DestQPN || e[0].QPN >= 1<<24 ||
			seen[e[0].QPN] || seen[e[1].QPN] {
			t.Fatalf("connection %d: %d and %d", i, e[0].QPN, e[1].QPN)
		}
		seen[e[0].QPN], seen[e[1].QPN] = true, true
	}
	e := s.Ends(3)
	if e[0].ReceiveDepth != 601 || e[0].PD != 1 || e[1].Params["cap"] != "3" {
		t.Errorf("attributes %+v", e[0])
	}
}

// TestDevice: a device has its own numbers, and packets to it use them.
func TestDevice(t *testing.T) {
	const line = "device B qpn=0x12 key=0x8f1 buffer=0x7f3a1c002000 fill=0x7b"
	s := lineByLine(t, line)
	e := s.Ends(0)
	if e[0].DestQPN != 0x12 || e[1].QPN != 0x12 || e[1].DestQPN != e[0].QPN {
		t.Errorf("QPs %#x to %#x and %#x to %#x", e[0].QPN, e[0].DestQPN, e[1].QPN, e[1].DestQPN)
	}
	if !strings.Contains(s.String(), line+"\n") {
		t.Errorf("printed:\n%s", s)
	}
	if want := (Device{QPN: 0x12, Key: 0x8f1, Buffer: 0x7f3a1c002000, Fill: 0x7b}); s.Devices != [2]Device{{}, want} {
		t.Errorf("devices %+v", s.Devices)
	}
	for _, bad := range []string{"device", "device C qpn=1", "device A qpn=0", "device A qpn=0x1000000",
		"device A qpn=1 colour=red", "device A qpn=1 fill=256"} {
		if err := Default().Line(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestStartAndRTT(t *testing.T) {
	s := lineByLine(t, "link A>B delay=3ms", "link B>A delay=4ms")
	s.Start(psn.Mask)
	for side, q := range s.QP {
		if q.SendPSN != psn.Mask || q.RecvPSN != psn.Mask {
			t.Errorf("side %d starts at %d and expects %d", side, q.SendPSN, q.RecvPSN)
		}
	}
	if got := s.RTT(); got != 7*vtime.Millisecond {
		t.Errorf("RTT %s, want 7ms", got)
	}
}

func TestLongestMessage(t *testing.T) {
	s := lineByLine(t, "load write msg=5", "post-send len=7", "post-receive len=6")
	if got := s.LongestMessage(); got != 7 {
		t.Errorf("longest message %s, want 7", got)
	}
}
