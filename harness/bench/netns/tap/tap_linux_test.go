package tap

import (
	"os"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// The frames that may have come to a device are those that its tap has seen come, whatever they are, and those that
// the tap missed.
func TestArrived(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "spool")
	must(t, err)
	defer f.Close()
	x := &Tap{spool: newSpool(capture.Tap{}, f), ignore: func(frame []byte) bool { return len(frame) == 3 }}
	for _, p := range []packetio.Packet{{Data: []byte("frame")}, {Data: []byte("sent"), Outgoing: true},
		{Data: []byte("set")}, {Data: make([]byte, 60)}} {
		must(t, x.keep(&p))
	}
	if x.dropped = 5; x.Arrived() != 3+5 {
		t.Errorf("%d frames arrived, want 8", x.Arrived())
	}
}
