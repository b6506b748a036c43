package netns

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Programs that are silent about datagrams still say when requests and receives complete.
func TestLeaveParts(t *testing.T) {
	h := trace.Header{Reports: trace.ReportCQE | trace.ReportMemory, Conns: make([]trace.Conn, 1)}
	leaveParts(&h)
	parts := trace.ReportDone | trace.ReportOrdered | trace.ReportFlushed | trace.ReportReceived
	if e := h.Conns[0].Ends; h.Reports != trace.ReportMemory || e[0].Reports != parts || e[1].Reports != parts {
		t.Errorf("%v, ends %v and %v", h.Reports.Names(), e[0].Reports.Names(), e[1].Reports.Names())
	}
	h = trace.Header{Conns: make([]trace.Conn, 1)}
	if leaveParts(&h); h.Conns[0].Ends[0].Reports != 0 {
		t.Error("ends that report nothing report parts")
	}
}
