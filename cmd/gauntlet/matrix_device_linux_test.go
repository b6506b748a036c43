package main

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/lab"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/device"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
)

// The kernel's soft-RoCE and a program that shares no code with it or with this repository do each other's work, in either
// direction, in a guest that has both.
func TestMatrixOfPeersWithSoftRoCE(t *testing.T) {
	needLab(t)
	if _, err := exec.LookPath("ib_write_bw"); err != nil {
		t.Skip(err, "; install perftest")
	}
	path := example(t) + "/gbn"
	o := gauntlet(t, t.TempDir(), "matrix", "--peers", "--impl", "rxe,"+path, "--bench", "lab", "--deterministic", "--links", "clean",
		"--with", "link rate=20M", "--with", "load write msg=16KiB count=10", "--json", "--quiet", "--out", "m")
	if o.stdout == "" {
		t.Fatalf("exit %d, %s", o.code, o.stderr)
	}
	m := readMatrix(t, []byte(o.stdout))
	if len(m.Cells) != 4 {
		t.Errorf("%d cells: %+v", len(m.Cells), m)
	}
	for _, c := range m.Cells {
		if c.Status != "PASS" || c.Messages != 10 {
			t.Errorf("%s: %s %s, %d messages", c.Impl, c.Status, c.Reason, c.Messages)
		}
	}
}

// place puts the device where its name is, and what no tool does is not applicable rather than an error.
func TestDeviceInItsPlace(t *testing.T) {
	gbn, _ := all.Find("gbn")
	rxe := dut.Implementation()
	for _, c := range []struct {
		load  string
		impls [2]engine.Implementation
		want  *device.Device // nil is none
		unfit bool
	}{
		{"write", [2]engine.Implementation{gbn, gbn}, nil, false},
		{"write", [2]engine.Implementation{gbn, rxe}, &device.Device{Side: trace.B}, false},
		{"write", [2]engine.Implementation{rxe, gbn}, &device.Device{Side: trace.A}, false},
		{"write", [2]engine.Implementation{rxe, rxe}, &device.Device{Side: trace.A, Peer: &dut.Tool{}}, false},
		{"write-imm", [2]engine.Implementation{gbn, rxe}, nil, true},
	} {
		name := c.load + " " + c.impls[0].Name + "+" + c.impls[1].Name
		s, err := scenario.Parse(strings.NewReader("impl " + c.impls[0].Name + " " + c.impls[1].Name + "\nload " + c.load + " msg=4KiB count=5\n"))
		must(t, err)
		_, b, err := placed(lab.Bench{Bench: &netns.Bench{}})(s, c.impls)
		if c.unfit {
			if !errors.Is(err, bench.ErrUnsupported) || !strings.Contains(err.Error(), "no tool does that") {
				t.Errorf("%s: %v; want that it cannot be done", name, err)
			}
			continue
		}
		must(t, err)
		got := b.(lab.Bench).Bench.(*netns.Bench).Device
		if (got == nil) != (c.want == nil) || got != nil && (got.Side != c.want.Side || (got.Peer == nil) != (c.want.Peer == nil)) {
			t.Errorf("%s: device %+v, want %+v", name, got, c.want)
		}
	}
}
