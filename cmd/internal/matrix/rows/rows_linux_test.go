package rows

import (
	"errors"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/lab"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/device"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
)

// Placed puts the device at the end of its name. A Spec that no tool can run is NOT-APPLICABLE rather than an error.
func TestDeviceInItsPlace(t *testing.T) {
	gbn, _ := all.Find("gbn")
	rxe := dut.Implementation()
	for _, c := range []struct {
		load  string
		impls [2]engine.Implementation
		want  *device.Device // nil for no device
		unfit bool
	}{
		{"write", [2]engine.Implementation{gbn, gbn}, nil, false},
		{"write", [2]engine.Implementation{gbn, rxe}, &device.Device{Side: trace.B}, false},
		{"write", [2]engine.Implementation{rxe, gbn}, &device.Device{Side: trace.A}, false},
		{"write", [2]engine.Implementation{rxe, rxe}, &device.Device{Side: trace.A, Peer: &dut.Tool{}}, false},
		{"write-imm", [2]engine.Implementation{gbn, rxe}, nil, true},
	} {
		name := c.load + " " + c.impls[0].Name + "+" + c.impls[1].Name
		s, err := scenario.Parse(strings.NewReader("impl " + c.impls[0].Name + " " + c.impls[1].Name + "\nload " +
			c.load + " msg=4KiB count=5\n"))
		if err != nil {
			t.Fatal(err)
		}
		_, b, err := Placed(lab.Bench{Bench: &netns.Bench{}})(s, c.impls)
		if c.unfit {
			if !errors.Is(err, bench.ErrUnsupported) || !strings.Contains(err.Error(), "no tool does that") {
				t.Errorf("%s: %v; want that it cannot be done", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got := b.(lab.Bench).Bench.(*netns.Bench).Device
		if (got == nil) != (c.want == nil) || got != nil &&
			(got.Side != c.want.Side || (got.Peer == nil) != (c.want.Peer == nil)) {
			t.Errorf("%s: device %+v, want %+v", name, got, c.want)
		}
	}
}
