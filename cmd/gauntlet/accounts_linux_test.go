//go:build netns

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	godiff "github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// accounted are the certificate items that count frames. A busy host changes times, not counts.
var accounted = []string{"losses seen", "corruptions seen", "copies seen", "capture drops", "overflow", "loss",
	"corruption", "duplication", "reordering"}

// onAccount runs a Spec once on the netns bench, and checks that the link's account of its frames is right.
func onAccount(t *testing.T, text string, args ...string) (*model.Result, string) {
	t.Helper()
	needNetns(t)
	spec := filepath.Join(t.TempDir(), "s.txt")
	must(t, os.WriteFile(spec, []byte(text), 0o644))
	o := gauntlet(t, t.TempDir(), append([]string{"run", spec, "--bench", "netns", "--json", "--attempts", "1", "--out",
		filepath.Join(t.TempDir(), "r")}, args...)...)
	r := o.result(t)
	if len(r.Certificates) != 3 {
		t.Fatalf("%s %s, %s", r.Status, r.Reason, o.stderr)
	}
	for _, item := range r.Certificates[1].Items {
		_, what, _ := strings.Cut(item.Name, " ")
		if slices.Contains(accounted, what) && !item.OK {
			t.Errorf("%s is %s, want %s: %s", item.Name, item.Got, item.Want, item.Bound)
		}
	}
	return r, r.Folder
}

// item returns the value of an item of the traffic's certificate.
func item(t *testing.T, r *model.Result, name string) int {
	t.Helper()
	for _, i := range r.Certificates[1].Items {
		if i.Name == name {
			n, err := strconv.Atoi(i.Got)
			must(t, err)
			return n
		}
	}
	t.Fatalf("no item %q", name)
	return 0
}

// Frames that the link loses, damages, copies or reorders have these fates in the trace, as often as the link counts.
func TestLinkAccountsForEveryFrame(t *testing.T) {
	beside(t)
	for name, text := range map[string]string{
		"corrupt":    "link rate=20M delay=10ms corrupt=0.02\n",
		"everything": "link rate=20M delay=10ms corrupt=0.02 duplicate=0.02 reorder=0.02\nloss random p=0.01\n",
		"jitter":     "link rate=20M delay=10ms jitter=2ms corrupt=0.05 duplicate=0.05\n",
		"scripted": "link rate=20M delay=10ms corrupt=0.02\ncorrupt A psn=+3 tx=1 field=icrc\ncorrupt A psn=+9 tx=1 " +
			"field=psn\ncorrupt A psn=+20 tx=1 field=ip\ndup A psn=+30 tx=1\nreorder A psn=+40 behind=2\nrewrite A " +
			"psn=+50 tx=1 field=dscp value=9\nmark A psn=+60 tx=1\n",
	} {
		for seed := range 3 {
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) {
				beside(t)
				r, dir := onAccount(t, text+fmt.Sprintf("seed %d\nload write msg=16KiB count=20\n", seed+1))
				damaged := 0
				for from, way := range map[string]string{"A0": "A>B", "B0": "B>A"} {
					seen := map[string]int{}
					for _, p := range packets(t, dir)[from] {
						if p.Copy {
							p.Fate = "copy"
						}
						seen[p.Fate]++
					}
					if seen["unknown"]+seen["injected"] > 0 || seen["corrupted"] != item(t, r,
						way+" corruptions seen") || seen["copy"] != item(t, r, way+" copies seen") ||
						seen["dropped"] != item(t, r, way+" losses seen") {
						t.Errorf("%s: the trace has %v", way, seen)
					}
					damaged += seen["corrupted"]
				}
				if damaged == 0 {
					t.Error("nothing was corrupted")
				}
			})
		}
	}
}

// The same seed damages, copies and loses the same packets on both benches while both send the same packets: here,
// until the first NAK arrives, which leaves an endpoint 400 ms to get a processor.
func TestBenchesDamageTheSame(t *testing.T) {
	beside(t)
	const text = "link rate=50M delay=200ms corrupt=0.2 duplicate=0.2\nloss random p=0.1\nseed " +
		"9\nqp timeout=18\nload write msg=64KiB count=1\n"
	// Timeouts take most of the run, and a busy machine would dilate them to minutes; the delay leaves it time enough.
	_, real := onAccount(t, text, "--dilate", "1")
	spec, virtual := filepath.Join(t.TempDir(), "s.txt"), filepath.Join(t.TempDir(), "v")
	must(t, os.WriteFile(spec, []byte(text), 0o644))
	if o := gauntlet(t, t.TempDir(), "run", spec, "--codec", "on", "--out", virtual); o.code != 0 {
		t.Fatal(o.stdout, o.stderr)
	}
	v, r := message(packets(t, virtual)["A0"]), message(packets(t, real)["A0"])
	if d := godiff.Diff(v, r); d != "" {
		t.Errorf("-sim +netns\n%s", d)
	}
	if !slices.ContainsFunc(v, func(l line) bool { return l.Fate == "corrupted" && l.Copy }) {
		t.Error("no copy was corrupted")
	}
}

// A frame that a program malformed crosses the link like any other and is a finding about its sender, on either side.
func TestMalformedFramesAreTheirSenders(t *testing.T) {
	beside(t)
	program := "exec:" + malformer(t)
	for side, impls := range map[string]string{"A": program + ",gbn", "B": "gbn," + program} {
		for _, link := range []string{"", " corrupt=0.02"} {
			t.Run(side+link, func(t *testing.T) {
				r, dir := onAccount(t, "link rate=20M delay=10ms"+link+"\nload write from="+side+
					" msg=16KiB count=40\n", "--impl", impls)
				var broken []string
				for _, v := range r.Verdicts {
					for _, f := range v.Findings {
						if strings.HasPrefix(v.Rule, "WIRE-") && (f.Side != side || f.Blame != rule.Requester) {
							t.Errorf("%s blames %v %s: %s", v.Rule, f.Blame, f.Side, f.Text)
						}
					}
					if v.Status == rule.Fail {
						broken = append(broken, v.Rule)
					}
				}
				for _, id := range []string{"WIRE-BTH-002", "WIRE-ICRC-001", "WIRE-OPC-001",
					"WIRE-UDP-001", "WIRE-UDP-003"} {
					if !slices.Contains(broken, id) {
						t.Errorf("%s did not fail; %v did", id, broken)
					}
				}
				strange := 0
				for _, p := range packets(t, dir)[side+"-1"] {
					if p.Fate == "injected" || p.Fate == "unknown" {
						t.Errorf("%s is %s", p.Pkt, p.Fate)
					}
					strange++
				}
				if strange < 8 {
					t.Errorf("%d frames of no connection", strange)
				}
			})
		}
	}
}

// malformer builds the example with a send function that malforms frames.
func malformer(t *testing.T) string {
	t.Helper()
	needExample(t)
	sources, err := filepath.Glob("../../images/example-c/*.c")
	must(t, err)
	out := filepath.Join(t.TempDir(), "malformer")
	args := append([]string{"-std=gnu11", "-D_GNU_SOURCE", "-O2", "-static", "-Wl,--wrap=send", "-o", out,
		"testdata/malform.c"}, sources...)
	if text, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, text)
	}
	return out
}
