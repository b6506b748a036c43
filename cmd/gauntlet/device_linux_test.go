//go:build lab

package main

import (
	"os/exec"
	"testing"
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
