package device

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// TestIntroductionIsLeftOut: one QP number may be that of the exchange at one end and of the connection at the other.
func TestIntroductionIsLeftOut(t *testing.T) {
	aside, device := dut.Aside{Own: 0x7E570, Device: 0x11}, drive.Addr(trace.B).As4()
	for _, c := range []struct {
		from trace.Side
		qpn  uint32
		want bool
	}{{trace.A, 1, true}, {trace.B, 1, true}, {trace.A, 0x11, true}, {trace.B, 0x11, false}, {trace.A, 0x12, false},
		{trace.B, 0x7E570, true}, {trace.A, 0x7E570, false}} {
		var f roce.Frame
		drive.Frame(&f, c.from, 0, &roce.Packet{BTH: roce.BTH{Opcode: roce.SendOnly, DestQP: c.qpn}})
		frame := f.AppendTo(nil)
		if got := introduces(frame, aside, device); got != c.want {
			t.Errorf("from %s to QP %#x: %v", c.from, c.qpn, got)
		}
		if introduces(frame[:40], aside, device) || introduces(frame, dut.Aside{}, device) && c.qpn != 1 {
			t.Errorf("from %s to QP %#x: a short frame, or none that is aside", c.from, c.qpn)
		}
	}
}
