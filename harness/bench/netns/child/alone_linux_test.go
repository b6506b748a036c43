//go:build netns

package child

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
)

// A program that is started for its capabilities alone sees no device of this machine.
func TestStartGivesNoDeviceButLo(t *testing.T) {
	if err := topology.Privileged(); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "devices")
	if err := os.WriteFile(path,
		[]byte("#!/bin/sh\nwhile read -r name rest; do echo \"$name\"; done </proc/self/net/dev\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	p, err := Start(path)
	if err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(p.Stdout)
	if err != nil || p.Wait() != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(string(said)) {
		if name, device := strings.CutSuffix(word, ":"); device && name != "lo" {
			t.Errorf("it sees %s", name)
		}
	}
	if !strings.Contains(string(said), "lo:") {
		t.Errorf("it sees no lo: %q", said)
	}
}
