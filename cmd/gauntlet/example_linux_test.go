//go:build netns || lab

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// needExample skips where the example cannot be built or run, with the reason.
func needExample(t *testing.T) {
	t.Helper()
	needNetns(t)
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler (apt-get install gcc libc6-dev)")
	}
}

// example builds the program of images/example-c and returns the folder of its executables.
func example(t *testing.T) string {
	t.Helper()
	needExample(t)
	dir, err := filepath.Abs("../../images/example-c")
	must(t, err)
	out := t.TempDir()
	if text, err := exec.Command("make", "-C", dir, "OUT="+filepath.Join(out, "gbn")).CombinedOutput(); err != nil {
		t.Fatalf("make: %v\n%s", err, text)
	}
	script, err := os.ReadFile(filepath.Join(dir, "gbn-repaired"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(out, "gbn-repaired"), script, 0o755))
	return "exec:" + out
}
