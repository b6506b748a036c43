//go:build netns

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	godiff "github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/netem/injector"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// injected runs a Spec with the injector, and checks that it was used and that its counters agree with the taps.
func injected(t *testing.T, text string) (*model.Result, string) {
	t.Helper()
	if support := injector.Probe(); !support.OK {
		t.Skip(support.Reason)
	}
	r, dir := onAccount(t, text, "--link", "ebpf")
	if !slices.ContainsFunc(r.Environment, func(f model.Fact) bool { return f.Name == "link" && f.Value == "ebpf" }) {
		t.Errorf("the link is %v", r.Environment)
	}
	for _, i := range r.Certificates[1].Items {
		if strings.HasSuffix(i.Name, " seen") && !i.OK {
			t.Errorf("%s: %s, want %s", i.Name, i.Got, i.Want)
		}
	}
	return r, dir
}

// The certificate has the injector's counts, and the trace each fate with its cause: on a link without rate and delay,
// which needs no process between the ends, and before a relay that adds them.
func TestInjectorAccountsForEveryFrame(t *testing.T) {
	for name, link := range map[string]string{"bare": "", "relay": "link rate=20M delay=10ms\n"} {
		t.Run(name, func(t *testing.T) {
			beside(t)
			r, dir := injected(t, link+"loss A>B random p=2%\nloss B>A gemodel p=0.05 r=0.5\nseed 5\n"+
				"drop A psn=+3 tx=1\ndup A psn=+9 copies=2\nmark A psn=+20 tx=1\ndrop B type=ACK nth=2\n"+
				"load write msg=16KiB count=30\n")
			for name, want := range map[string]int{"A>B drop[0] seen": 1, "A>B dup[1] seen": 1, "A>B mark[2] seen": 1,
				"B>A drop[3] seen": 1, "A>B copies seen": 2} {
				if got := item(t, r, name); got != want {
					t.Errorf("%s: %d, want %d", name, got, want)
				}
			}
			lost := 0
			for _, p := range packets(t, dir)["A0"] {
				if p.Fate == "unknown" || p.Fate == "injected" {
					t.Errorf("%s is %s", p.Pkt, p.Fate)
				}
				if p.Cause == "loss" {
					lost++
				}
			}
			if lost == 0 || lost != item(t, r, "A>B losses seen") {
				t.Errorf("the trace has %d losses", lost)
			}
		})
	}
}

// The simulator, the relay and the injector do the same to the same packets while all ends send the same: here, until
// the first NAK arrives, which leaves an endpoint 400 ms to get a processor.
func TestInjectorDoesWhatRelayAndSimulatorDo(t *testing.T) {
	beside(t)
	const text = "link rate=50M delay=200ms\nloss random p=0.1\nseed 9\nqp timeout=20\ndrop A psn=+5 tx=1\nmark " +
		"A psn=+7..+20 tx=1\ndup A psn=+11 tx=1\nload write msg=64KiB count=1\n"
	spec, virtual := filepath.Join(t.TempDir(), "s.txt"), filepath.Join(t.TempDir(), "v")
	must(t, os.WriteFile(spec, []byte(text), 0o644))
	if o := gauntlet(t, t.TempDir(), "run", spec, "--codec", "on", "--out", virtual); o.code != 0 {
		t.Fatal(o.stdout, o.stderr)
	}
	_, relay := onAccount(t, text, "--link", "relay")
	_, kernel := injected(t, text)
	v := message(packets(t, virtual)["A0"])
	for who, dir := range map[string]string{"relay": relay, "injector": kernel} {
		if d := godiff.Diff(v, message(packets(t, dir)["A0"])); d != "" {
			t.Errorf("-sim +%s\n%s", who, d)
		}
	}
	if !slices.ContainsFunc(v, func(l line) bool { return l.Cause == "loss" }) {
		t.Error("nothing was lost")
	}
}

// message returns the fates of the 64 packets of a first message in the order of sending, and then those of their
// copies. The position of a copy among the packets depends on the sender's progress and not on the link.
func message(list []line) (fates []line) {
	var copies []line
	for _, l := range list {
		switch {
		case l.Copy:
			copies = append(copies, l)
		case len(fates) == 64:
			return append(fates, copies...)
		default:
			fates = append(fates, l)
		}
	}
	return append(fates, copies...)
}
