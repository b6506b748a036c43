package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPerfCompareCommand(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	o := gauntlet(t, dir, "perf", "--target", "PT-NT-02", "--json")
	file("old.json", o.stdout)
	file("new.json", strings.ReplaceAll(o.stdout, "3.2074", "2.9074")) // the only number
	file("list.json", "[]")
	file("none.json", `{"format": 1}`)
	file("future.json", `{"format": 99}`)
	for _, tt := range []struct {
		old, new string
		code     int
		want     string
	}{
		{"old.json", "old.json", 0, "1 same"},
		{"old.json", "new.json", exitFailure, "PT-NT-02  regressed"},
		{"new.json", "old.json", 0, "PT-NT-02  improved"},
		{"old.json", "missing.json", exitUsage, "no such file"},
		{"old.json", "list.json", exitUsage, "want what perf --json wrote"},
		{"old.json", "none.json", exitUsage, "no claims"},
		{"future.json", "old.json", exitUsage, "format 99"},
		{".", "old.json", exitUsage, "want a file"},
	} {
		if o := gauntlet(t, dir, "perf", "compare", tt.old, tt.new); o.code != tt.code ||
			!strings.Contains(o.stdout+o.stderr, tt.want) {
			t.Errorf("%s %s: exit %d, %s%s; want %d and %q", tt.old, tt.new, o.code, o.stdout,
				o.stderr, tt.code, tt.want)
		}
	}
	if o := gauntlet(t, dir, "perf", "compare", "old.json", "old.json", "--margin", "NaN"); o.code != exitUsage {
		t.Errorf("a margin of NaN: exit %d", o.code)
	}
}
