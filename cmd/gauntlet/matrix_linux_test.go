package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Cells of the netns bench are real runs with captures; what the host was too busy for is INVALID and not hidden.
func TestMatrixNetns(t *testing.T) {
	needNetns(t)
	dir := t.TempDir()
	o := gauntlet(t, dir, "matrix", "--bench", "netns", "--impl", "gbn,fasr", "--links", "random", "--with", "load write msg=16KiB count=20", "--json", "--out", "m")
	m := readMatrix(t, []byte(o.stdout))
	if len(m.Cells) != 2 {
		t.Fatalf("exit %d, %+v, %s", o.code, m, o.stderr)
	}
	for _, c := range m.Cells {
		if c.Status == "INVALID" && c.Attempts == 3 && c.Reason != "" && o.code == 3 {
			t.Logf("this host is too busy: %s", c.Reason)
			continue
		}
		if c.Status != "PASS" || c.Messages != 20 {
			t.Errorf("%s over %s: %s %s, %d messages", c.Impl, c.Link, c.Status, c.Reason, c.Messages)
		}
		if _, err := os.Stat(filepath.Join(dir, c.Folder, "taps")); err != nil {
			t.Error(err)
		}
	}
}
