//go:build netns

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program qualifies with real packets: every link has certificates, and the report has the program's description of
// itself.
func TestQualifyProgram(t *testing.T) {
	beside(t)
	repaired := example(t) + "/gbn-repaired"
	dir := t.TempDir()
	profile := "# Frames.\ndeclares gbn\nreference gbn\nfamilies WIRE\ncore WIRE-ICRC-001 WIRE-BTH-001\n"
	must(t, os.WriteFile(filepath.Join(dir, "frames.txt"), []byte(profile), 0o644))
	o := gauntlet(t, dir, "qualify", "--bench", "netns", "--impl", repaired, "--peer", "gbn", "--profile",
		"./frames.txt", "--attempts", attempts, "--out", "report")
	q := readQualification(t, filepath.Join(dir, "report", "qualification.json"))
	if o.code != 0 || !q.Qualified {
		t.Errorf("exit %d, %s %q\n%s", o.code, q.Status, q.Reasons, o.stderr)
	}
	if valid, all := q.Certified(); all < len(q.Scenarios) || valid == 0 || len(q.Scenarios) < 5 {
		t.Errorf("%d certificates, %d valid, of %d scenarios", all, valid, len(q.Scenarios))
	}
	said, err := os.ReadFile(filepath.Join(dir, "report", "capabilities.json"))
	if err != nil || !strings.Contains(string(said), `"recovery": "gbn"`) ||
		!strings.Contains(string(said), `"name": "gbn"`) {
		t.Errorf("%v\n%s", err, said)
	}
	if q.Peer != "gbn" || len(q.Environment) == 0 {
		t.Errorf("peer %s, environment %v", q.Peer, q.Environment)
	}
}
