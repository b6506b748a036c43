package recording

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

// Connections of one capture may have different path MTUs. A connection that shows none is given none.
func TestEachConnectionHasItsMTU(t *testing.T) {
	f := tracetest.Parse(t, `
qp A conn=1 mtu=4096
qp B conn=1 mtu=4096
qp A conn=2 mtu=4096
qp A conn=3
qp A conn=4 mtu=2048
A>B WRITE_FIRST psn=+0 len=1024
A>B WRITE_MIDDLE psn=+1 len=1024
A>B WRITE_LAST psn=+2 len=1
A>B WRITE_FIRST psn=+0 len=4096 conn=1
A>B WRITE_LAST psn=+1 len=8 conn=1
A>B SEND_ONLY psn=+0 len=3000 conn=2
A>B SEND_ONLY psn=+0 len=30 conn=3
A>B SEND_FIRST psn=+0 len=2048 conn=4
A>B SEND_MIDDLE psn=+1 len=2064 conn=4
A>B SEND_MIDDLE psn=+2 len=2064 conn=4
A>B SEND_LAST psn=+3 len=8 conn=4
`, 0)
	l, err := learn([]capture.Source{&tracetest.Frames{List: tracetest.FramesAt(f, trace.A)}})
	if err != nil {
		t.Fatal(err)
	}
	h := l.header()
	for i, want := range []int{1024, 4096, 0, 0, 2048} {
		if got := h.Conns[i].Ends[trace.A].QP.MTU; got != want {
			t.Errorf("connection %d: MTU %d, want %d", i, got, want)
		}
	}
}
