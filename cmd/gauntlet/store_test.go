package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What matrix and conform found is added, listed and exported; a second store merges into the first.
func TestStore(t *testing.T) {
	dir := t.TempDir()
	ran := inProcess(
		t,
		dir,
		"matrix",
		"--impl",
		"gbn",
		"--links",
		"clean",
		"--with",
		"load write msg=4KiB count=3",
		"--json",
		"--quiet",
		"--out",
		"m",
	)
	if ran.code != 0 {
		t.Fatal(ran.stderr)
	}
	must(t, os.WriteFile("matrix.json", []byte(ran.stdout), 0o644))
	for _, words := range []string{"add s matrix.json --host a --commit 01234567 --night 2026-11-24",
		"add s m --host a --commit 01234567 --night 2026-11-24",
		"add other m --host b --night 2026-11-23"} {
		if o := inProcess(t, dir, append([]string{"store"}, strings.Fields(words)...)...); o.code != 0 ||
			!strings.Contains(o.stdout, ": 12 points, 0 gaps") {
			t.Errorf("%s: %+v", words, o)
		}
	}
	must(t, os.WriteFile("other/notes.txt", nil, 0o644))
	o := inProcess(t, dir, "store", "merge", "s", "other")
	if o.code != 0 || o.stdout != "s: 1 copied, 0 were there\n" ||
		!strings.Contains(o.stderr, "notes.txt: skipped: not a file of a store") {
		t.Errorf("merge: %+v", o)
	}
	o = inProcess(t, dir, "store", "list", "s", "--series", "goodput|verdict")
	if o.code != 0 || !strings.Contains(o.stdout, "2 series of 2 nights and hosts in s") ||
		!strings.Contains(o.stdout, "2026-11-23") {
		t.Errorf("list: %+v", o)
	}
	o = inProcess(t, dir, "store", "export", "s", "--format", "gobench", "--since", "2026-11-24")
	for _, want := range []string{"commit: 01234567\n", "host: a\n", "BenchmarkMatrix_gbn_clean_messages 1 3 count\n"} {
		if !strings.Contains(o.stdout, want) || strings.Contains(o.stdout, "host: b") {
			t.Errorf("export: %q is not in\n%s", want, o.stdout)
		}
	}
	o = inProcess(t, dir, "store", "export", "s", "--series", "messages")
	if lines := strings.Split(o.stdout, "\n"); len(lines) != 4 || !strings.HasPrefix(lines[1], "2026-11-23,") ||
		!strings.Contains(lines[2], ",matrix gbn clean messages,sim,exact,,up,3,") {
		t.Errorf("export: %s", o.stdout)
	}
}

// A file that was cut is exit 3 of a merge, by name, and everything else is merged.
func TestStoreMergesAroundDamage(t *testing.T) {
	dir := t.TempDir()
	ran := inProcess(
		t,
		dir,
		"run",
		"--impl",
		"gbn",
		"--rate",
		"100M",
		"--msg",
		"4KiB",
		"--count",
		"2",
		"--out",
		"r",
		"--quiet",
	)
	if ran.code != 0 {
		t.Fatal(ran.stderr)
	}
	inProcess(t, dir, "store", "add", "s", "r", "--night", "2026-11-24")
	inProcess(t, dir, "store", "add", "s", "r", "--night", "2026-11-23")
	cut, err := filepath.Glob("s/2026-11-23-*")
	must(t, err)
	must(t, os.Truncate(cut[0], 300))
	o := inProcess(t, dir, "store", "merge", "into", "s")
	if o.code != exitBroken ||
		!strings.Contains(o.stderr, cut[0]+": skipped: its content has another hash than its name") ||
		!strings.Contains(o.stdout, "1 copied") {
		t.Errorf("%+v", o)
	}
	if o = inProcess(t, dir, "store", "list", "s"); o.code != 0 || !strings.Contains(o.stderr, cut[0]) {
		t.Errorf("%+v", o)
	}
}

func TestStoreRefuses(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "x.json"), []byte(`{"format":1,"commit":"a"}`), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "failed.json"), []byte(`{"format":1,"error":"no link"}`), 0o644))
	must(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	for words, want := range map[string]string{
		"add s":                       "requires at least 2 arg",
		"add s none.json":             "none.json: no such file or directory; want the JSON of run, matrix",
		"add s x.json":                "x.json: it is no result",
		"add s failed.json":           "it says that nothing was run: no link",
		"add s empty":                 "empty: a folder without a result",
		"add s x.json --class paired": "--class paired: want exact or noisy",
		"merge s none":                "none: no such file",
		"merge s x.json":              "x.json: no folder",
		"list none":                   "store add makes a store",
		"list empty --series (":       "--series: error parsing",
		"export empty --since today":  "--since today: want a day",
		"export empty --format xml":   "--format",
	} {
		o := inProcess(t, dir, append([]string{"store"}, strings.Fields(words)...)...)
		if o.code != exitUsage || !strings.Contains(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("store %s: %+v, want %q", words, o, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "s")); err == nil {
		t.Error("a store was made")
	}
}
