package all

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/meta"
	"github.com/rdma-gauntlet/gauntlet/conformance/meta/degrade"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
)

// TestPlaceOfALossyCapture: the tap of a capture at either port is found although many packets are lost on the way,
// even the first one, whatever the responder does with requests that are early, and none is taken to be missing. Small
// READs, READs below LoWAR, which asks for no lost data again, and retransmissions that are lost themselves do not
// always show how fast an end reacts.
func TestPlaceOfALossyCapture(t *testing.T) {
	for _, impl := range Implementations() {
		for seed, lines := range []string{
			"loss random p=1%\nload write msg=64KiB count=40",
			"loss random p=1%\ndrop A psn=+0 tx=1\nload write msg=64KiB count=40",
			"loss random p=1%\nload read msg=64KiB count=40",
			"loss random p=1%\nload read msg=256B count=300",
			"loss random p=5%\nload write msg=16KiB count=60",
		} {
			if impl.OverIP() || impl.NewBox != nil {
				continue
			}
			text := fmt.Sprintf("seed %d\nimpl %s\nlink rate=100M delay=5ms\nqp retry=7\n%s\n",
				seed+1, impl.Name, lines)
			unknown := strings.Contains(lines, "read msg=256B") || strings.Contains(lines, "5%") && impl.Name != "gbn" ||
				strings.Contains(lines, "read") && strings.HasPrefix(impl.Name, "lowar")
			r := recorded(t, text, impl)
			wires, err := degrade.Wires(r.Header, r.Play)
			if err != nil {
				t.Fatal(err)
			}
			for _, view := range degrade.Views[1:3] {
				file := view.Of(wires[0]).File()
				in, err := recording.ReadFrom("x", bytes.NewReader(file), int64(len(file)), recording.Stated{})
				if err != nil || !unknown && in.Capture.Tap != view.Name || in.Capture.Located+in.Capture.Missing > 0 {
					t.Errorf("%s %q at the %s: %v, %+v", impl.Name, lines, view.Name, err, in.Capture)
				}
			}
		}
	}
}

// TestCutRepairPackets: what is acknowledged may have come by repair packets whose bytes a capture at the responder
// lacks.
func TestCutRepairPackets(t *testing.T) {
	for _, name := range []string{"lowar", "lowar-gb1"} {
		impl, _ := Find(name)
		r := recorded(t, "seed 1\nimpl "+name+"\nlink rate=100M delay=5ms\nloss random p=1%\nqp retry=7\n"+
			"load write msg=64KiB count=20\n", impl)
		ways := slices.DeleteFunc(meta.Ways(), func(w meta.Way) bool {
			return w.String() != "responder, 128 bytes kept, stated"
		})
		v, _, err := meta.FromLess(meta.Judged, rules.All(), []*meta.Recording{r}, func(int) []meta.Way { return ways })
		if err != nil || len(ways) != 1 {
			t.Fatal(ways, err)
		}
		for _, f := range v.Findings {
			t.Error(f.Text)
		}
	}
}
