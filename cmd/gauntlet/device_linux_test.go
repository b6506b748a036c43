package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestDeviceByCM: the kernel's communication manager connects to ours for rping, and ours to the kernel's for perftest -R, and
// what then flows is judged.
func TestDeviceByCM(t *testing.T) {
	needLab(t)
	for program, where := range map[string]string{"rping": "rdmacm-utils", "ib_write_bw": "perftest"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err, "; install ", where)
		}
	}
	o := gauntlet(t, t.TempDir(), "conform", "--dut", "rxe", "--waivers", "rxe", "--bench", "lab", "--deterministic", "--quiet",
		"--focus", "requester turns-rping$", "--focus", "responder cm-write$")
	if want := "2 scenarios, 2 passed, 0 did not: PASS\n"; o.code != 0 || !strings.Contains(o.stdout, want) {
		t.Errorf("exit %d, want %q\n%s%s", o.code, want, o.stdout, o.stderr)
	}
}
