//go:build lab

package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// The kernel's soft-RoCE and the C example, which share no code with each other or with this repository, work with each
// other in either direction, in a guest that has both.
func TestMatrixOfPeersWithSoftRoCE(t *testing.T) {
	needLab(t)
	if _, err := exec.LookPath("ib_write_bw"); err != nil {
		t.Skip(err, "; install perftest")
	}
	path := example(t) + "/gbn"
	o := gauntlet(t, t.TempDir(), "matrix", "--peers", "--impl", "rxe,"+path, "--bench", "lab", "--deterministic",
		"--links", "clean",
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

// Packets of soft-RoCE, captured at either port and in the middle, are judged as in the run itself.
func TestSoftRoCEFromPositions(t *testing.T) {
	needLab(t)
	if _, err := exec.LookPath("ib_write_bw"); err != nil {
		t.Skip(err, "; install perftest")
	}
	r := gauntlet(t, t.TempDir(), "run", "--impl", "rxe", "--bench", "lab", "--deterministic", "--rate", "20M", "--rtt",
		"10ms", "--msg", "16KiB",
		"--count", "10", "--fault", "drop A psn=+20 tx=1", "--json", "--waivers", "rxe", "--out",
		filepath.Join(t.TempDir(), "r")).result(t)
	if r.Messages != 10 {
		t.Fatalf("%s %s, %d messages", r.Status, r.Reason, r.Messages)
	}
	fromPositions(t, r)
}
