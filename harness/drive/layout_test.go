package drive

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// TestSlots: a region has a slot for each message that can be outstanding, and room for the addresses of crafted
// packets and scripts.
func TestSlots(t *testing.T) {
	for text, want := range map[string]uint64{
		"load write msg=64KiB count=5\n":                                   5 << 16,
		"qp qd=3\nload write msg=64KiB count=5\n":                          3 << 16,
		"qp qd=3\nload write msg=64KiB count=2\nload send msg=1 count=9\n": 3 << 16,
		"qp qd=8\nrun for=1s\nload write msg=64KiB\n":                      8 << 16,
		"load write msg=64 count=5\n":                                      128 * 64, // outstanding at most
		"load write msg=1KiB count=5\n":                                    16 << 10,
		"post-write wr=1 len=4096 remote=65536\n":                          17 << 12,
	} {
		s, err := scenario.Parse(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got := RemoteLen(s, trace.B); got != want {
			t.Errorf("%q: %d bytes, want %d", text, got, want)
		}
	}
}
