package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMatrixOfPeers(t *testing.T) {
	dir := t.TempDir()
	o := gauntlet(t, dir, "matrix", "--peers", "--impl", "gbn,irn,rciwarp", "--with", "load write msg=8KiB count=20",
		"--quiet", "--out", "m")
	for _, want := range []string{"PASS  3 implementations, each with each, over 1 link", "irn+gbn",
		"rciwarp does not speak RoCEv2", "0 of 20 messages completed"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("no %q in\n%s", want, o.stdout)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "m", "matrix.json"))
	must(t, err)
	m := readMatrix(t, text)
	for pair, want := range map[[2]string]string{{"gbn", "gbn"}: "PASS", {"gbn", "irn"}: "PASS",
		{"irn", "gbn"}: "NOT-APPLICABLE", {"rciwarp", "rciwarp"}: "PASS", {"gbn", "rciwarp"}: "NOT-APPLICABLE"} {
		if c := m.Met(pair[0], pair[1], "random"); c == nil || c.Status != want {
			t.Errorf("%v: %+v, want %s", pair, c, want)
		}
	}
	if page, err := os.ReadFile(filepath.Join(dir, "m", "matrix.html")); err != nil || !strings.Contains(string(page),
		`id="peers"`) || o.code != 0 {
		t.Errorf("exit %d, %v", o.code, err)
	}
	for args, want := range map[string]string{"--peers --impl gbn+irn": "--peers: gbn+irn is two implementations",
		"--peers --impl gbn,gbn": "is there twice", "--impl exec:./x": "add --bench netns"} {
		if o := gauntlet(t, dir, append([]string{"matrix"}, strings.Fields(args)...)...); o.code != 2 ||
			!strings.Contains(o.stderr, want) {
			t.Errorf("%s: exit %d, %s", args, o.code, o.stderr)
		}
	}
}
