package spec

import (
	"math"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Closed forms agree with values worked out by hand.
func TestClosedForms(t *testing.T) {
	inf := math.Inf(1)
	tests := []struct {
		loss        string
		mean, burst float64
	}{
		{"none", 0, 0},
		{"random p=0", 0, 0},
		{"random p=0.2", 0.2, 1.25},
		{"random p=1", 1, inf},
		{"gemodel p=0.01 r=0.24", 0.04, 1 / 0.24},   // plain Gilbert: run lengths are geometric with r
		{"gemodel p=0.5 r=0.5 h=0.5 k=0.5", 0.5, 2}, // same loss in both states: Bernoulli
		{"gemodel p=0 r=0", 0, 0},                   // remains in the good state
		{"gemodel p=0 r=0 k=0.75", 0.25, 1 / 0.75},  //
		{"gemodel p=1 r=0", 1, inf},                 // the bad state is absorbing
		// m2 = .75*.1*(.075+.2) + .25*.8*(.075+.2) = .075625
		{"gemodel p=0.25 r=0.75 h=0.2 k=0.9", 0.275, 0.275 / (0.275 - 0.075625)},
		{"state p13=0.25", 0.25, 1 / 0.75}, // p13 alone is Bernoulli
		{"state p13=0 p14=0.25", 0.2, 1},   // isolated losses only: 1 of 5 packets
		{"state p13=0.1 p31=0.5 p32=0.2 p14=0.01 p23=0.4", 0.21 / 1.31, 0.21 / 0.15},
		{"state p13=0.1 p31=0 p32=0", 1, inf},
		{"state p13=0.1 p31=0 p32=0.5 p23=0", 0, 0},
		{"state p13=0.1 p31=0 p32=0.5 p23=0.5", 0.5, 2},
		{"burst p=1 len=4 h=0.5", 0.5, 2}, // always in the bad state
		{"burst p=1 len=4", 1, inf},
		{"burst p=0 len=4", 0, 0},
		{"burst p=0.25 len=4", 4.0 / 7, 4 / 0.75},
		{"tape file=x", 0, 0},
	}
	for _, tt := range tests {
		l, err := ParseLoss(tt.loss)
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(l.Mean()); math.Abs(got-tt.mean) > 1e-12 {
			t.Errorf("%s: Mean = %v, want %v", tt.loss, got, tt.mean)
		}
		if got := l.MeanBurst(); got != tt.burst && math.Abs(got-tt.burst) > 1e-9 {
			t.Errorf("%s: MeanBurst = %v, want %v", tt.loss, got, tt.burst)
		}
	}
}

func TestBDPPackets(t *testing.T) {
	l := Link{Rate: 10 * unit.Gbps}
	tests := []struct {
		link  Link
		rtt   vtime.Duration
		bytes int
		want  int
	}{
		{l, 40 * vtime.Millisecond, 1250, 40000},
		{l, 40 * vtime.Millisecond, 1251, 39969},
		{l, vtime.Microsecond, 1250, 1},
		{l, 0, 1250, 0},
		{l, vtime.Second, 0, 0},
		{Link{}, vtime.Second, 1250, 0},
	}
	for _, tt := range tests {
		if got := tt.link.BDPPackets(tt.rtt, tt.bytes); got != tt.want {
			t.Errorf("BDPPackets(%v, %d) = %d, want %d", tt.rtt, tt.bytes, got, tt.want)
		}
	}
}
