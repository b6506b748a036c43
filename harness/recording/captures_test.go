package recording

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// A frame to another UDP port is RoCEv2 if its ICRC is right, and of a connection if it goes to a known QP of the
// hosts. Other frames to that port are other traffic.
func TestFramesToAnotherPort(t *testing.T) {
	f := tracetest.Parse(t, "A>B SEND_ONLY psn=+0 len=8 A\nB>A ACK psn=+0 msn=1\nA>B SEND_ONLY psn=+1 len=8 A\n"+
		"A>B SEND_ONLY psn=+1 len=8 A\nB>A ACK psn=+1 msn=2\n", 0)
	for name, c := range map[string]struct {
		change func(*roce.Frame)
		damage bool
		want   bool
	}{
		"to the QP":              {func(*roce.Frame) {}, false, true},
		"with a wrong ICRC":      {func(*roce.Frame) {}, true, false},
		"to an unknown QP":       {func(h *roce.Frame) { h.Packet.DestQP = 0x999 }, false, false},
		"to the QP, by its host": {func(h *roce.Frame) { h.Src, h.Dst = h.Dst, h.Src }, false, false},
		"to the right port too":  {func(h *roce.Frame) { h.DstPort = roce.Port }, false, false},
		"with other application": {func(h *roce.Frame) { h.Packet.DestQP, h.DstPort = 0x999, 53 }, false, false},
	} {
		for _, taps := range [][]trace.Side{{trace.A}, {trace.B}, {trace.A, trace.B}} {
			var lists [][]capture.Frame
			for _, tap := range taps {
				list := tracetest.FramesAt(f, tap)
				var h roce.Frame
				if err := h.Decode(list[2].Raw); err != nil {
					t.Fatal(err)
				}
				h.DstPort = 4792
				c.change(&h)
				list[2].Raw = h.AppendTo(nil)
				if c.damage {
					list[2].Raw[len(list[2].Raw)-1] ^= 1
				}
				list[2].Kept = len(list[2].Raw)
				lists = append(lists, list)
			}
			r, _ := filed(t, lists...)
			var k misported
			if err := r.Play(&k); err != nil {
				t.Fatal(err)
			}
			if got := k.n > 0; got != c.want || k.n > 1 || got && k.from != trace.A {
				t.Errorf("%s at %v: %+v, want one frame from A: %v (%d of other protocols)", name, taps, k, c.want,
					r.Capture.Skipped)
			}
		}
	}
}

// misported counts the records of frames to another port.
type misported struct {
	n    int
	from trace.Side
}

func (k *misported) Packet(r *trace.Record) {
	if strings.Contains(r.Defect, "port") {
		k.n, k.from = k.n+1, r.From
	}
}
func (k *misported) Event(*trace.Event) {}
func (k *misported) End(vtime.Time)     {}
