package pseudoack

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// counter is an index of the totals over all flows, each reported when it changes.
type counter int

const (
	brokenPromise counter = iota // messages that were acknowledged to Local and that Remote will not execute
	overrun                      // requests dropped because the buffer was full
	lanGaps                      // requests that arrived ahead of the expected PSN
	repeated                     // pseudo-ACKs repeated for duplicates
	recoveries                   // go-backs on the WAN
	timeouts                     // go-backs after wan_rto
	rnrWaits                     // RNR NAKs absorbed
	learned                      // flows whose QPN and MSN were learnt from a real ACK
	refusedFlows                 // connections beyond the limit
	counters
)

var counterNames = [counters]string{engine.BrokenPromise, "overrun", "lan_gap", "repeated_ack",
	"recovery", "wan_timeout",
	"rnr_wait", "learned", "refused_flow"}

// variable is an index of the state of a flow that is reported when it changes, if BoxConfig.Detail asks for it.
type variable int

const (
	varState variable = iota
	varExp
	varAcked
	varUNA
	varNxt
	varBufferFirst
	varBufferEnd
	varBufferBytes
	varHold
	varMSN
	varBuffer
	varRTO
	variables
)

var variableNames = [variables]string{"box_state", "exp_psn", "acked", "wan_una", "wan_nxt", "buf_first", "buf_end",
	"buf_bytes", "hold", "box_msn", "buffer", "wan_rto_ps"}

// advanced adds n to a counter and reports the total.
func (fl *flow) advanced(c counter, n int64) {
	b := fl.box
	b.totals[c] += n
	b.events.Push(b.counter(fl.far.qpn, c))
}

// counter is the event of a counter.
func (b *Box) counter(qpn uint32, c counter) engine.BoxEvent {
	return engine.BoxEvent{QPN: qpn, Name: counterNames[c], Value: b.totals[c], Count: true}
}

// untold is a value that no variable has, so that all variables are reported at first.
const untold = -2

// tell reports the variables that have changed since the last call.
func (fl *flow) tell() {
	if !fl.box.cfg.detail {
		return
	}
	now := fl.vars()
	for v, x := range now {
		if x != fl.shown[v] {
			fl.box.events.Push(engine.BoxEvent{QPN: fl.far.qpn, Name: variableNames[v], Value: x})
		}
	}
	fl.shown = now
}

// vars returns the variables. The buffer holds the PSNs [buf_first, buf_end); hold is the PSN of the oldest hold, from
// which on no request is promised, and -1 if there is none.
func (fl *flow) vars() [variables]int64 {
	first, end, held := fl.exp, fl.exp, int64(-1)
	if n := fl.buffer.n; n > 0 {
		s := fl.buffer.at(0)
		first, end = s.frame.Packet.PSN, fl.buffer.at(n-1).end
	}
	if fl.holds.Len() > 0 {
		held = int64(fl.holds.At(0).first)
	}
	return [variables]int64{
		varState: int64(fl.state), varExp: int64(fl.exp), varAcked: int64(fl.acked), varUNA: int64(fl.una),
		varNxt: int64(fl.nxt), varBufferFirst: int64(first), varBufferEnd: int64(end),
		varBufferBytes: int64(fl.buffer.bytes), varHold: held, varMSN: int64(psn.MSN(fl.base).Add(fl.count)),
		varBuffer: int64(fl.box.cfg.buffer), varRTO: int64(fl.box.cfg.rto),
	}
}
