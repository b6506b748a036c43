package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Impossible demands of a command line or a file are refused in one line before anything runs.
func TestGateRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"good.gate": "gate 1\nimpl gbn\n", "new.gate": "gate 2\nimpl gbn\n",
		"two.gate": "gate 1\nimpl gbn\nbench lab sim\n", "none.gate": "gate 1\nimpl gbn\nbaseline main.json\n"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for words, want := range map[string]string{
		"":                                "want a gate file, or --impl NAME",
		"good.gate --impl gbn":            "the file names the implementation",
		"missing.gate":                    "missing.gate: no such file",
		"new.gate":                        "new.gate:1: gate 2: this program reads version 1",
		"two.gate":                        "bench lab is a machine of its own",
		"none.gate":                       "main.json: no such file or directory; keep the gate.json of a gate of main",
		"good.gate --budget -1s":          "--budget -1s: want 1 or more, and more than 0s",
		"good.gate --jobs 0":              "--jobs 0",
		"good.gate --kernel x":            "--kernel: means nothing on the sim bench",
		"good.gate --color red":           "--color",
		"--impl nobody":                   "unknown; known:",
		"--impl gbn --baseline good.gate": "want a gate.json that gate wrote",
	} {
		o := inProcess(t, dir, append([]string{"gate"}, strings.Fields(words)...)...)
		if o.code != exitUsage || !strings.Contains(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 ||
			o.stdout != "" {
			t.Errorf("gate %s: exit %d, %q, want %q\n%s", words, o.code, o.stderr, want, o.stdout)
		}
	}
}
