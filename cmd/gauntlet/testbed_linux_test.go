package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An error in the file is the user's (exit code 2). A host that cannot be reached is the lab's, in one line with the
// host's last output.
func TestTestbedCheck(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "lab")
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(file, "testbed 1\nhost dut1 device=rxe0 interface=test0 cable=none0\n", 0o644)
	write(filepath.Join(dir, "bad"), "testbed 1\nhost -oProxyCommand=x device=d interface=i cable=c\n", 0o644)
	write(filepath.Join(dir, "ssh"), "#!/bin/sh\necho 'Host key verification failed.' >&2\nexit 255\n", 0o755)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for args, want := range map[string]struct {
		code int
		text string
	}{
		"testbed check " + dir + "/none": {exitUsage, "no such file"},
		"testbed check " + dir + "/bad": {exitUsage,
			"bad:2: host: want the name that ssh knows it by"},
		"testbed check " + file: {exitBroken,
			"testbed: host dut1: ssh: remote: host dut1: ssh ended: exit status 255: Host key verification failed."},
		"testbed check --json " + file: {exitBroken,
			"Host key verification failed."},
		"run --bench remote --impl gbn,rxe": {exitUsage,
			"which hosts? add --testbed FILE"},
		"run --testbed " + file: {exitUsage,
			"--bench remote: no device; have rxe or rnic among the implementations of --impl"},
		"run --testbed " + file + " --impl gbn,exec:/bin/true": {exitUsage, "add --bench netns"},
		"run --testbed " + file + " --impl gbn,rxe --dut other --out " + dir + "/out": {exitUsage,
			"no host other; it has dut1"},
		"run --testbed " + file + " --impl gbn,rxe --out " + dir + "/out": {exitBroken,
			"remote: host dut1: ssh ended: exit status 255: Host key verification failed."},
		"run --testbed " + file + " --bench sim": {exitUsage,
			"--testbed: means nothing on the sim bench"},
		"run --impl gbn,rnic --bench netns": {exitUsage,
			"an RNIC is on a host of a testbed"},
		"conform --testbed " + file + " --impl gbn": {exitUsage, "leave --impl out"},
		"conform --testbed " + file + " --dut dut1": {exitBroken,
			"Host key verification failed."},
		"matrix --bench remote --impl gbn": {exitUsage,
			"--bench remote: no device"},
		"matrix --bench remote --impl gbn+rxe": {exitUsage,
			"which hosts? add --testbed FILE"},
		"matrix --testbed " + file + " --impl gbn,rxe": {exitUsage,
			"1 hosts for 2 devices under test"},
		"matrix --testbed " + file + " --impl gbn+rxe": {exitBroken,
			"Host key verification failed."},
		"run --testbed " + file + " --impl rxe,rxe --out " + dir + "/out": {exitUsage,
			"1 hosts for 2 devices under test"},
		"qualify --testbed " + file + " --impl gbn --profile rc-gbn": {exitUsage, "leave --impl out"},
		"qualify --testbed " + file + " --profile rc-gbn": {exitBroken,
			"Host key verification failed."},
		"doctor --testbed " + dir + "/bad": {exitUsage, "bad:2: host"},
	} {
		got := inProcess(t, dir, strings.Fields(args)...)
		if got.code != want.code || !strings.Contains(got.stderr, want.text) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%s: %+v; want %d, %q", args, got, want.code, want.text)
		}
	}
}
