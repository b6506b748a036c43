package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A tape is recorded, inspected, played, converted and played again, each in a process of its own.
func TestTape(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	file("wan.txt", "link rate=1G delay=1ms\nloss A>B random p=1%\nqp rto=10ms qd=8\nload write msg=16KiB count=100\n")
	file("short.txt", "link rate=1G delay=1ms\nload write msg=1KiB count=2\n")
	file("torn.tape", "gauntlet-tape 1\nkey index\nseed 1\nlength 10\nlost 3\nend 2\n")
	for _, step := range []struct {
		args string
		code int
		want string
	}{
		{"record wan.txt --out id.tape", 0, ""},
		{"inspect id.tape", 0, "on 1 connection"},
		{"replay id.tape wan.txt", 0, "key identity"},
		{"convert id.tape wan.txt --key index --out index.tape", 0, ""},
		{"inspect index.tape --json", 0, `"longest_burst"`},
		{"replay index.tape wan.txt", 0, "key index"},
		{"convert index.tape wan.txt --key time --slot 100us", 0, "key time 100us"},
		{"record wan.txt --key index --seed 9", 0, "seed 9"},
		{"replay id.tape short.txt", exitFailure, "another link or workload"},
		{"replay index.tape short.txt", exitFailure, "another link or workload"},
		{"convert id.tape short.txt", exitFailure, "another link or workload"},
		{"inspect torn.tape", exitUsage, "the file is damaged"},
		{"replay missing.tape wan.txt", exitUsage, "no such file"},
		{"record missing.txt", exitUsage, "missing.txt"},
		{"record wan.txt --key time", exitUsage, "a slot belongs to key time"},
		{"record wan.txt --key colour", exitUsage, "known are index, time, identity"},
		{"record wan.txt --key time --slot soon", exitUsage, "--slot"},
		{"record wan.txt --from C", exitUsage, "want A or B"},
	} {
		o := gauntlet(t, dir, append([]string{"tape"}, strings.Fields(step.args)...)...)
		if o.code != step.code || !strings.Contains(o.stdout+o.stderr, step.want) {
			t.Errorf("tape %s: exit %d, %.300q %q; want %d and %q", step.args, o.code, o.stdout, o.stderr,
				step.code, step.want)
		}
	}
}
