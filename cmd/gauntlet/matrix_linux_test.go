//go:build netns

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Cells of the netns bench are real runs with captures.
func TestMatrixNetns(t *testing.T) {
	needNetns(t)
	dir := t.TempDir()
	o := gauntlet(t, dir, "matrix", "--bench", "netns", "--impl", "gbn,fasr", "--links", "random", "--with",
		"load write msg=16KiB count=20", "--attempts", attempts, "--json", "--out", "m")
	m := readMatrix(t, []byte(o.stdout))
	if len(m.Cells) != 2 {
		t.Fatalf("exit %d, %+v, %s", o.code, m, o.stderr)
	}
	for _, c := range m.Cells {
		if c.Status != "PASS" || c.Messages != 20 {
			t.Errorf("%s over %s: %s %s, %d messages", c.Impl, c.Link, c.Status, c.Reason, c.Messages)
		}
		if _, err := os.Stat(filepath.Join(dir, c.Folder, "taps")); err != nil {
			t.Error(err)
		}
	}
}

// quitter declares itself as the contract asks, and ends as soon as it gets work.
const quitter = `#!/bin/sh
echo '{"event":"capabilities","contract":1,"program":"quitter","version":"1","operations":"WRITE",` +
	`"serves":"WRITE","mtus":"1024","recovery":"gbn","max_qps":4,"reports":""}'
while read -r line; do
	case $line in
	*gauntlet_no_such_parameter*) exit 127 ;;
	*'"prepare"'*) echo "I give up" >&2; exit 1 ;;
	esac
done
`

// A program that breaks the contract, and one that fails in the run, fail only their own rows and columns. A program is
// not run with operations that it does not declare.
func TestMatrixOfPrograms(t *testing.T) {
	needNetns(t)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "silent"), []byte("#!/bin/sh\n"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "quitter"), []byte(quitter), 0o755))
	o := gauntlet(t, dir, "matrix", "--bench", "netns", "--impl", "gbn,exec:./silent,exec:./quitter,exec:./quitter+gbn",
		"--links", "clean", "--with", "load write msg=16KiB count=10", "--quiet", "--json", "--out", "m")
	m := readMatrix(t, []byte(o.stdout))
	for row, want := range map[string][2]string{
		"exec:./silent":      {"ERROR", "it said nothing; want capabilities as the first line"},
		"exec:./quitter":     {"FAIL", "I give up"},
		"exec:./quitter+gbn": {"FAIL", "I give up"},
	} {
		if c := m.Cell(row, "clean"); c.Status != want[0] || !strings.Contains(c.Reason, want[1]) {
			t.Errorf("%s: %s %s, want %v", row, c.Status, c.Reason, want)
		}
	}
	if c := m.Cell("gbn", "clean"); c.Status != "PASS" || o.code != exitFailure {
		t.Errorf("exit %d, gbn: %s %s", o.code, c.Status, c.Reason)
	}
	if c := m.Cell("exec:./quitter", "clean"); c.Folder != filepath.Join("m", "exec-quitter", "clean") {
		t.Errorf("folder %s", c.Folder)
	}
	o = gauntlet(t, dir, "matrix", "--bench", "netns", "--peers", "--impl", "exec:./silent,exec:./quitter", "--with",
		"load send msg=16KiB count=10", "--quiet", "--json", "--out", "p")
	m = readMatrix(t, []byte(o.stdout))
	if c := m.Met("exec:./quitter", "exec:./quitter", "random"); c.Status != "NOT-APPLICABLE" ||
		c.Reason != "exec:./quitter does not declare operation SEND" {
		t.Errorf("%s %s", c.Status, c.Reason)
	}
	if c := m.Met("exec:./quitter", "exec:./silent", "random"); c.Status != "ERROR" || o.code != exitBroken {
		t.Errorf("exit %d, %s %s", o.code, c.Status, c.Reason)
	}
}
