package scenario

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

func TestOrdered(t *testing.T) {
	for _, c := range []struct {
		text string
		want [2]Ordered
	}{
		{"load write msg=1KiB count=100", [2]Ordered{{Requests: 100}, {}}},
		{"qp count=4\nload write msg=1KiB count=100\nload read from=B msg=1KiB count=3",
			[2]Ordered{{Requests: 400}, {Requests: 12}}},
		{"load write msg=1KiB count=0\nload send from=B msg=8 count=5\nrun for=1s",
			[2]Ordered{{Endless: true}, {Endless: true}}},
		{"post-send len=8\npost-write len=8 signal=0\npost-receive len=8\npost-read from=B len=8",
			[2]Ordered{{Requests: 2, Silent: 1}, {Requests: 1}}},
		{"turns write msg=64 count=7", [2]Ordered{{Requests: 7}, {Requests: 7}}},
		{"turns rping from=B msg=64 count=7", [2]Ordered{{Requests: 28}, {Requests: 14}}},
		{"inject B at=10us : WRITE_ONLY psn=+3 len=8", [2]Ordered{}},
	} {
		s, err := Parse(strings.NewReader(c.text))
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		if got := [2]Ordered{s.Ordered(trace.A), s.Ordered(trace.B)}; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.text, got, c.want)
		}
	}
}
