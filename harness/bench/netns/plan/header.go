package plan

import (
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Header describes the trace of a Spec: the trace of a run, or the trace in which a process stores its reports.
func Header(sp *scenario.Spec) trace.Header {
	h := trace.Header{Version: trace.FormatVersion, Bench: "netns", Taps: [2]bool{true, true}, Bytes: true,
		Reports: trace.ReportCQE | trace.ReportMemory}
	if sp.Devices[trace.A].Present() || sp.Devices[trace.B].Present() {
		h.Reports = 0 // the reports of one end do not replace those of the other
	} else if sp.Reads.Detail {
		h.Reports |= trace.ReportStores | trace.ReportTimers | trace.ReportProbes
	}
	for i := range sp.QPs {
		var c trace.Conn
		for side, q := range sp.Ends(i) {
			c.Ends[side] = trace.End{Addr: drive.Addr(trace.Side(side)), Port: drive.SourcePort(i), Impl: sp.Impl[side],
				QP: q, Known: true}
		}
		h.Conns = append(h.Conns, c)
	}
	return h
}
