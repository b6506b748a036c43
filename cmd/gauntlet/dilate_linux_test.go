//go:build netns

package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A dilated run, in which a second lasts eight, equals the run in virtual time: the same Spec with the same hash,
// goodput and recovery. Every file of its folder states the dilation.
func TestDilatedRun(t *testing.T) {
	args := strings.Fields("--impl gbn --rate 200M --rtt 20ms --loss 1e-3 --msg 64KiB --count 40 --seed 3")
	r, dir := onNetns(t, append([]string{"--dilate", "8"}, args...)...)
	wantPass(t, r)
	v := gauntlet(t, t.TempDir(), append([]string{"run", "--json"}, args...)...).result(t)
	if r.Dilated != 8 || r.SpecHash != v.SpecHash || r.Environment[0].Value != "8, as asked for" {
		t.Errorf("dilated %d, hash %s, in virtual time %s; %v", r.Dilated, r.SpecHash, v.SpecHash, r.Environment)
	}
	if gap := r.GoodputBps/v.GoodputBps - 1; math.Abs(gap) > 0.1 {
		t.Errorf("goodput %.4g, in virtual time %.4g", r.GoodputBps, v.GoodputBps)
	}
	for name, want := range map[string]string{"trace.ndjson": `"dilated":8`, "taps/A.pcapng": `"dilated":8`,
		"report.html": "time dilated 8 times", "summary.md": "time dilated 8 times"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Contains(text, []byte(want)) {
			t.Errorf("%s does not say %s: %v", name, want, err)
		}
	}
}

// A program that does not know of dilation receives rates and times of the machine, and passes as in real time.
func TestDilatedProgram(t *testing.T) {
	program := example(t) + "/gbn-repaired"
	work := strings.Fields("--dilate 4 --rate 20M --rtt 10ms --msg 64KiB --count 5")
	r, _ := onNetns(t, append(work, "--fault", "drop A psn=+70 tx=1", "--impl", program+","+program)...)
	wantPass(t, r)
	if r.Messages != 5 || r.Dilated != 4 {
		t.Errorf("%d messages, dilated %d", r.Messages, r.Dilated)
	}
}

// An implementation that keeps the machine's time is refused with --dilate, unless the bench may choose the dilation.
func TestKernelTCPIsNotDilated(t *testing.T) {
	needNetns(t)
	args := strings.Fields("run --bench netns --impl rciwarp --rate 20M --rtt 10ms --count 2")
	o := gauntlet(t, t.TempDir(), append(args, "--dilate", "2")...)
	if o.code != 2 || !strings.Contains(o.stderr, "the kernel's TCP keeps the machine's time") {
		t.Errorf("exit %d, %s", o.code, o.stderr)
	}
	if r, _ := onNetns(t, args[3:]...); r.Dilated != 1 {
		t.Errorf("dilated %d", r.Dilated)
	}
}
