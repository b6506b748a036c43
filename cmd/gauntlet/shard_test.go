package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sharded are commands whose work can be divided, each as small as it can be, and the file that they write.
var sharded = map[string]struct {
	args []string
	out  func(name string) []string // flags that have it written below name
	file string
}{
	"atlas": {[]string{"atlas", "--rate", "100M", "--rtt", "5ms", "--loss", "1e-2", "--burst", "1,4", "--impl",
		"gbn,irn", "--seeds", "3", "--quiet"},
		func(name string) []string { return []string{"--out", name} }, "atlas.json"},
	"conform": {[]string{"conform", "--impl", "gbn,irn", "--focus", "loss-", "--quiet"},
		func(string) []string { return nil }, ""},
	"figures": {[]string{"figures", "LW-13a", "--seeds", "1", "--quiet"},
		func(name string) []string { return []string{"--out", name} }, "figures.json"},
	"matrix": {[]string{"matrix", "--impl", "gbn,irn", "--links", "clean,random", "--with",
		"load write msg=64KiB count=4", "--quiet"},
		func(name string) []string { return []string{"--out", name} }, "matrix.json"},
	"perf": {[]string{"perf", "--target", "PT-DI", "--class", "E", "--seeds", "2", "--quiet"},
		func(name string) []string {
			return []string{"--html", name + "/perf.html", "--markdown", name + "/perf.md", "--gobench",
				name + "/perf.txt"}
		}, "perf.html"},
}

// Divided among so many shards and merged, a command finds what one machine finds, byte for byte, in every file that it
// writes and on its output. Without --units it says besides when that was, how long it took, and with which flags.
func TestShardsAreOneMachine(t *testing.T) {
	for name, c := range sharded {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			want := gauntlet(t, dir, append(append(c.args, "--units", "whole"), c.out("one")...)...)
			counts := []int{3}
			if everything {
				counts = []int{1, 2, 8}
			}
			for _, n := range counts {
				var folders []string
				for i := range n {
					folders = append(folders, fmt.Sprintf("of%d/shard%d", n, i))
					o := gauntlet(t, dir, append(c.args, "--shard", fmt.Sprintf("%d/%d", i+1, n),
						"--units", folders[i])...)
					if o.code != 0 || !strings.HasPrefix(o.stdout, fmt.Sprintf("shard %d/%d: ", i+1, n)) {
						t.Fatalf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
					}
				}
				must(t, os.RemoveAll(filepath.Join(dir, "one-before")))
				must(t, os.MkdirAll(filepath.Join(dir, "one"), 0o755))
				must(t, os.Rename(filepath.Join(dir, "one"), filepath.Join(dir, "one-before")))
				got := gauntlet(t, dir,
					append(append(append([]string{"merge"}, folders...), "--", "--quiet"), c.out("one")...)...)
				if got.code != want.code || got.stdout != want.stdout {
					t.Errorf("%d shards: exit %d, want %d\n%s%s\nwant\n%s", n, got.code, want.code, got.stdout,
						got.stderr, want.stdout)
				}
				if c.file == "" { // all is on the output
					continue
				}
				sameFolders(t, filepath.Join(dir, "one"), filepath.Join(dir, "one-before"))
			}
			plain := gauntlet(t, dir, append(c.args, c.out("plain")...)...)
			if plain.code != want.code {
				t.Errorf("without --units: exit %d, want %d", plain.code, want.code)
			}
			if c.file == "" && plain.stdout != want.stdout {
				t.Errorf("without --units: %s\nwant\n%s", plain.stdout, want.stdout)
			}
			if strings.HasSuffix(c.file, ".json") { // which has the time of the day in many places
				same(t, circumstances(t, filepath.Join(dir, "plain", c.file)),
					circumstances(t, filepath.Join(dir, "one", c.file)))
			}
		})
	}
}

// circumstances is a file without the lines that say when it was made, and how, and where its runs are.
func circumstances(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return regexp.MustCompile(`(?m)^ *"(started|wall_seconds|command|folder|again)": .*\n`).ReplaceAll(text, nil)
}

func same(t *testing.T, a, b []byte) {
	t.Helper()
	if len(a) == 0 || !bytes.Equal(a, b) {
		t.Errorf("%d bytes, and %d bytes that differ", len(a), len(b))
	}
}

// sameFolders wants the same files in two folders.
func sameFolders(t *testing.T, a, b string) {
	t.Helper()
	entries, err := os.ReadDir(a)
	must(t, err)
	others, err := os.ReadDir(b)
	must(t, err)
	if len(entries) != len(others) || len(entries) == 0 {
		t.Errorf("%d files and %d", len(entries), len(others))
	}
	for _, e := range entries {
		x, err := os.ReadFile(filepath.Join(a, e.Name()))
		must(t, err)
		y, err := os.ReadFile(filepath.Join(b, e.Name()))
		must(t, err)
		if !bytes.Equal(x, y) {
			t.Errorf("%s differs", e.Name())
		}
	}
}

// A shard that is not there ends a merge with code 3 and the names of its units.
func TestMergeMissesAShard(t *testing.T) {
	dir, c := t.TempDir(), sharded["atlas"]
	if o := gauntlet(t, dir, append(c.args, "--shard", "1/2", "--units", "a")...); o.code != 0 {
		t.Fatalf("exit %d\n%s", o.code, o.stderr)
	}
	o := gauntlet(t, dir, "merge", "a")
	if o.code != exitBroken || !strings.Contains(o.stderr, "of 12 units have no result: ") ||
		!strings.Contains(o.stderr, "seed ") {
		t.Errorf("exit %d, %s", o.code, o.stderr)
	}
	o = gauntlet(t, dir, "atlas", "--units", "a", "--rate", "10M", "--quiet")
	if o.code != exitUsage || !strings.Contains(o.stderr, "a holds results of") {
		t.Errorf("exit %d, %s", o.code, o.stderr)
	}
}

func TestShardRejects(t *testing.T) {
	dir := t.TempDir()
	for want, args := range map[string][]string{
		"add --units DIR":                     {"atlas", "--shard", "1/2"},
		`shard "x": want i/n`:                 {"atlas", "--shard", "x", "--units", "u"},
		"shard 3 of 2":                        {"perf", "--shard", "3/2", "--units", "u", "--target", "PT-DI"},
		"shard auto: none of":                 {"atlas", "--shard", "auto", "--units", "u"},
		"means nothing without --shard":       {"atlas", "--costs", "u"},
		"verdicts in virtual time":            {"conform", "--bench", "netns", "--units", "w"},
		"cells in real time":                  {"matrix", "--bench", "netns", "--units", "w"},
		"broken engines are run by one":       {"matrix", "--broken", "--units", "w"},
		"requires at least 1 arg":             {"merge"},
		"name the folders":                    {"merge", "--", "--json"},
		"no results whose cost could be read": {"figures", "LW-13a", "--shard", "1/2", "--units", "v", "--costs", dir},
	} {
		o := inProcess(t, dir, args...)
		if o.code != exitUsage || !strings.Contains(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %q, want %q", args, o.code, o.stderr, want)
		}
	}
}
