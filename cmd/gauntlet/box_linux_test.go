//go:build netns

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// family returns the verdicts of a family of rules by rule ID.
func family(r *model.Result, prefix string) map[string]rule.Status {
	out := map[string]rule.Status{}
	for _, v := range r.Verdicts {
		if strings.HasPrefix(v.Rule, prefix) {
			out[v.Rule] = v.Status
		}
	}
	return out
}

// A middlebox in the path of real frames keeps its promises over a lossy link, as in virtual time: the same rules of
// its family are exercised and hold, also when judged from the captures of both hops.
func TestBoxOnNetns(t *testing.T) {
	args := strings.Fields("--impl pseudoack --rate 50M --rtt 40ms --loss 1e-2 --msg 64KiB --count 20 --seed 3")
	virtual := gauntlet(t, t.TempDir(), append([]string{"run", "--json"}, args...)...).result(t)
	r, dir := onNetns(t, args...)
	wantPass(t, r)
	if r.Messages != 20 || r.Lost == 0 || !strings.Contains(strings.Join(r.Notes, " "), "a middlebox divides the path") {
		t.Errorf("%d messages, %d lost, notes %q", r.Messages, r.Lost, r.Notes)
	}
	for id, want := range family(virtual, "PACK-") {
		if got := family(r, "PACK-")[id]; want == rule.Pass && got != want {
			t.Errorf("%s is %v, in virtual time %v", id, got, want)
		}
	}
	want := []string{"A-lan.pcapng", "A-wan.pcapng", "B-lan.pcapng", "B-wan.pcapng"}
	if taps := left(t, filepath.Join(dir, "taps")); !slices.Equal(taps, want) {
		t.Errorf("captures: %v", taps)
	}
	h, _, err := recording.Open(filepath.Join(dir, "taps"))
	if err != nil || !h.Divided() || h.Twin(0) != 1 {
		t.Errorf("captures: %d connections, divided %v, %v", len(h.Conns), h.Divided(), err)
	}
	again := gauntlet(t, t.TempDir(), "judge", "--json", dir).result(t)
	if again.Status != "PASS" || again.Packets != r.Packets || again.Lost != r.Lost {
		t.Errorf("judged again: %s, %d packets, %d lost; was %d, %d\n%s", again.Status, again.Packets, again.Lost,
			r.Packets, r.Lost, strings.Join(failures(again), "\n"))
	}
	alone := gauntlet(t, t.TempDir(), "judge", "--json", filepath.Join(dir, "taps")).result(t)
	if alone.Status != "PASS" || alone.Packets != r.Packets {
		t.Errorf("judged by the captures alone: %s, %d packets\n%s", alone.Status, alone.Packets,
			strings.Join(failures(alone), "\n"))
	}
}

// A middlebox without a buffer breaks its promise when the WAN loses a packet. The break is counted, the rules report
// it, and B's memory is not blamed for the promise.
func TestBoxBreaksItsPromise(t *testing.T) {
	args := strings.Fields("--impl pseudoack --param buffer=0 --rate 20M --rtt 20ms --msg 16KiB --count 20 --fault")
	r, _ := onNetns(t, append(args, "drop A psn=+4 tx=1")...)
	if !slices.ContainsFunc(r.Counters, func(f model.Fact) bool { return f.Name == "box: broken_promise" }) {
		t.Errorf("counters: %v", r.Counters)
	}
	var failed []string
	for _, v := range r.Verdicts {
		if v.Status == rule.Fail {
			failed = append(failed, v.Rule)
		}
	}
	if want := []string{"PACK-INT-001", "PACK-REC-001"}; !slices.Equal(slices.Sorted(slices.Values(failed)), want) {
		t.Errorf("%s: %v failed, want %v\n%s", r.Status, failed, want, strings.Join(failures(r), "\n"))
	}
}

// A middlebox handles READs, SENDs and several connections of real frames.
func TestBoxOperationsOnNetns(t *testing.T) {
	for _, args := range []string{
		"--op read --count 20 --rate 20M --rtt 40ms --loss 1e-2",
		"--op send --count 20 --rate 20M --rtt 40ms --loss 1e-2",
		"--qps 4 --count 5 --rate 10M --rtt 40ms --msg 4KiB --loss 1e-2",
	} {
		r, _ := onNetns(t, append([]string{"--impl", "pseudoack"}, strings.Fields(args)...)...)
		wantPass(t, r)
		if r.Messages < 20 {
			t.Errorf("%s: %d messages", args, r.Messages)
		}
	}
}
