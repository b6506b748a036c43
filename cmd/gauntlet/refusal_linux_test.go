package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
)

// On a kernel without netem, --link netem is refused before anything is made.
func TestLinkNetemWithoutNetem(t *testing.T) {
	if topology.Privileged() != nil {
		t.Skip("looking for netem needs root")
	}
	dir := t.TempDir()
	o := gauntlet(t, dir, "run", "--bench", "netns", "--link", "netem", "--count", "1", "--quiet")
	if o.code == 0 {
		t.Skip("this kernel has netem")
	}
	if o.code != exitBroken || !strings.Contains(o.stderr, "use the relay") || strings.Count(o.stderr, "\n") != 1 ||
		o.stdout != "" || len(left(t, dir)) > 0 {
		t.Errorf("exit %d, %q %q, left %v", o.code, o.stderr, o.stdout, left(t, dir))
	}
	spec := filepath.Join(dir, "marks.txt")
	must(t, os.WriteFile(spec,
		[]byte("link rate=10M delay=1ms ecn-min=5 ecn-max=20 ecn-p=1%\nload write msg=1KiB count=1\n"), 0o644))
	o = gauntlet(t, dir, "run", spec, "--bench", "netns", "--link", "netem", "--quiet")
	if o.code != exitUsage || !strings.Contains(o.stderr, "ecn-min") ||
		!strings.Contains(o.stderr, "leave --link out") {
		t.Errorf("exit %d, %q", o.code, o.stderr)
	}
}

// A demand that the chosen TCP cannot meet is refused in one line.
func TestTCPRefusals(t *testing.T) {
	t.Parallel()
	needNetns(t)
	for _, c := range []struct {
		want string
		args []string
	}{
		{"virtual time has no kernel", []string{"--bench", "sim", "--param", "tcp=kernel"}},
		{"want auto, kernel or lite", []string{"--param", "tcp=linux"}},
		{"leave it out, or use tcp=lite", []string{"--bench", "netns", "--param", "rwnd=65536"}},
		{"pick one by nth=", []string{"--bench", "netns", "--fault", "drop A psn=+4"}},
		{"cc=dcqcn around the kernel's TCP", []string{"--bench", "netns", "--cc", "dcqcn"}},
		{"congestion=none", []string{"--bench", "netns", "--param", "congestion=none"}},
	} {
		dir := t.TempDir()
		o := gauntlet(t, dir, append([]string{"run", "--impl", "rciwarp", "--out", "r"}, c.args...)...)
		if o.code == 0 || !strings.Contains(o.stderr, c.want) {
			t.Errorf("%q: exit %d, %s", c.args, o.code, o.stderr)
		}
	}
}

// An impossible cell is refused before anything boots.
func TestGoodputRefusals(t *testing.T) {
	for args, says := range map[string]string{
		"--impl nonesuch":  "nonesuch",
		"--rate 0":         "--rate",
		"--rtt soon":       "--rtt",
		"--loss much":      "--loss",
		"--loss 2":         "--loss",
		"--count 0":        "--count 0",
		"--msg 3furlongs":  "msg",
		"--rtt= --loss 0":  "one of each",
		"--port 10M":       "port",
		"--impl rciwarp":   "reliable connection",
		"--depth 99999999": "qd",
	} {
		o := gauntlet(t, t.TempDir(), append([]string{"lab", "goodput", "--guest-limit", "1s"},
			strings.Fields(args)...)...)
		if o.code != exitUsage || !strings.Contains(o.stderr, says) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %q; want a line with %q", args, o.code, o.stderr, says)
		}
	}
}
