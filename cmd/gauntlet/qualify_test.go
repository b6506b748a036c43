package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/profiles"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

func readQualification(t *testing.T, path string) *model.Qualification {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	var q model.Qualification
	must(t, json.Unmarshal(text, &q))
	return &q
}

// An engine qualifies for its own profile, and the folder holds the evidence.
func TestQualify(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := gauntlet(t, dir, "qualify", "--impl", "irn", "--profile", "irn", "--out", "report")
	if o.code != 0 || !strings.HasPrefix(o.stdout, "QUALIFIED  irn for irn") || o.stderr != "" {
		t.Fatalf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	q := readQualification(t, filepath.Join(dir, "report", "qualification.json"))
	if !q.Qualified || len(q.Reasons) != 0 || len(q.Scenarios) < 90 || q.Command == "" ||
		q.Capabilities[0].Name != "irn" || len(q.TargetRuns) != 6 {
		t.Errorf("%+v %q, %d scenarios, %d runs of targets", q.Qualified, q.Reasons, len(q.Scenarios),
			len(q.TargetRuns))
	}
	for _, r := range q.Rules {
		if r.Status == "PASS" && (r.Judged < 1 || r.Met < r.Judged) || r.Core && r.Status != "PASS" {
			t.Errorf("%+v", r)
		}
	}
	for _, file := range []string{"qualification.html", "junit.xml", "capabilities.json",
		"scenarios/irn/irn-loss/report.html"} {
		if info, err := os.Stat(filepath.Join(dir, "report", file)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
	if again := gauntlet(t, dir, "qualify", "--impl", "irn", "--profile", "irn", "--out", "report"); again.code != 2 ||
		!strings.Contains(again.stderr, "already holds a qualification") {
		t.Errorf("into the same folder: exit %d, %s", again.code, again.stderr)
	}
}

// A profile may be a file of the user. An unattainable bound, a core rule without its stimulus and a needless waiver
// are reasons not to qualify.
func TestQualifyMisses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	profile := "# Mine.\ndeclares gbn\nreference openapn\nfamilies GBN\ncore GBN-BT0-001 GBN-NAK-001\n" +
		"target too-far PT-LW-01\nlink rate=100M delay=20ms queue=4000\nqp qd=1 rto=120ms\nload write " +
		"msg=1KiB\nrun for=1s\n"
	must(t, os.WriteFile(filepath.Join(dir, "mine.txt"), []byte(profile), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "known.txt"),
		[]byte("waive GBN-NAK-002 impl=gbn owner=o expires=9999-12-31 : r\n"), 0o644))
	o := gauntlet(t, dir, "qualify", "--impl", "gbn", "--profile", "./mine.txt", "--waivers", "./known.txt", "--out",
		"report", "--json")
	var q model.Qualification
	must(t, json.Unmarshal([]byte(o.stdout), &q))
	for _, want := range []string{"GBN-BT0-001", "GBN-NAK-002 XPASS",
		"target too-far, beside the reference, goodput ratio FAIL"} {
		if !strings.Contains(strings.Join(q.Reasons, "\n"), want) {
			t.Errorf("no %q in %q", want, q.Reasons)
		}
	}
	if o.code != 1 || q.Qualified || len(q.Waivers) != 1 || q.Waivers[0].Status != "XPASS" {
		t.Errorf("exit %d, %+v, %+v", o.code, q.Status, q.Waivers)
	}
}

func TestQualifyUsage(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]string{
		"":                                     "--profile: want one of fasr",
		"--profile rc-gbn":                     "want one implementation, or --dut rxe",
		"--profile rc-gbn --impl gbn,irn":      "want one implementation",
		"--profile rc-gbn --impl irn":          "irn does not declare gbn",
		"--profile nope --impl irn":            "unknown; known: fasr",
		"--profile irn --impl irn --seeds 0":   "want 1 or more",
		"--profile irn --impl irn --link auto": "means nothing on the sim bench",
		"--profile irn --impl exec:./x":        "add --bench netns",
		"--profile irn --impl irn --bench tin": "want one of sim",
	} {
		start := inProcess
		if args == "--profile rc-gbn --impl irn" { // this one registers the scenarios
			start = gauntlet
		}
		o := start(t, dir, append([]string{"qualify"}, strings.Fields(args)...)...)
		if o.code != 2 || !strings.Contains(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 || o.stdout != "" {
			t.Errorf("%s: exit %d, want 2 and %q; stderr %q", args, o.code, want, o.stderr)
		}
	}
	if names := left(t, dir); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

func TestListProfiles(t *testing.T) {
	o := inProcess(t, t.TempDir(), "list", "profiles")
	for _, name := range profiles.Names() {
		if !strings.Contains(o.stdout, name+"  ") {
			t.Errorf("%s is not listed in\n%s", name, o.stdout)
		}
	}
	if o = inProcess(t, t.TempDir(), "__complete", "qualify", "--profile",
		""); !strings.Contains(o.stdout, "rc-gbn\n") {
		t.Errorf("completion offers %q", o.stdout)
	}
}
