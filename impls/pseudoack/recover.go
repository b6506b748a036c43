package pseudoack

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// retry is the state of recovery on the WAN. Every move of una resets it.
type retry struct {
	spent     int        // timeouts and NAKs without progress; 0 <= spent <= config.retry
	rnr       int        // RNR NAKs in a row
	resending bool       // the retransmission that answers a NAK has begun; further NAKs of the same gap are ignored
	until     vtime.Time // end of an RNR wait; 0 when there is none
}

// goBack retransmits from una after an explicit or implied NAK of una by Remote.
func (fl *flow) goBack() {
	switch {
	case fl.lost():
		fl.breakPromise()
	case fl.retry.resending:
	case fl.spend():
		fl.retry.resending = true
		fl.rewind()
	}
}

// lost reports whether the request at una was promised and, with buffer=0, not kept.
func (fl *flow) lost() bool { return fl.paper() && fl.una.Less(fl.acked) }

// spend uses one retry and reports whether one was left; if not, it gives the flow up.
func (fl *flow) spend() bool {
	if fl.retry.spent == fl.box.cfg.retry {
		fl.giveUp()
		return false
	}
	fl.retry.spent++
	fl.advanced(recoveries, 1)
	return true
}

// giveUp ends a flow whose Remote does not answer. If no promise is open, Local's own timer detects the failure.
func (fl *flow) giveUp() {
	if fl.una.Less(fl.acked) {
		fl.breakPromise()
		return
	}
	fl.stop(silent)
}

// rewind moves the cursor to the oldest request in the buffer: go-back-N.
func (fl *flow) rewind() {
	fl.timer.running = false
	fl.nxt, fl.cur = fl.una, 0
	fl.wake()
}

// rnrForever is the RNR retry count that means no limit (IBTA 9.7.5.2.8).
const rnrForever = 7

// notReady retransmits after the wait that the RNR NAK asks for, up to fl.rnr times without progress: the RNR retry
// count that Local announced at set-up (IBTA 9.7.5.2.8).
func (fl *flow) notReady(now vtime.Time, f *roce.Frame, t roce.RNRTimer) {
	if !fl.advance(now, f.Packet.PSN) || fl.lost() {
		fl.goBack()
		return
	}
	if now < fl.retry.until {
		return
	}
	if fl.retry.rnr++; fl.rnr != rnrForever && fl.retry.rnr > fl.rnr {
		fl.giveUp()
		return
	}
	fl.advanced(rnrWaits, 1)
	fl.rewind()
	fl.retry.until = now.Add(t.Duration())
	fl.box.wakeAt(fl, fl.retry.until)
}

// handleTimer ends an RNR wait or the wait for a replay, or handles the expiry of wan_rto. Without a buffer the box
// cannot tell silence from loss and has nothing to retransmit: the promise counts as broken.
func (fl *flow) handleTimer(now vtime.Time) {
	if fl.replay.until != 0 && fl.replay.until <= now {
		fl.replayEnds()
	}
	if fl.retry.until != 0 && fl.retry.until <= now {
		fl.retry.until = 0
		fl.wake()
	}
	if !fl.timer.running || now < fl.timer.at || fl.retry.until != 0 {
		return
	}
	fl.timer.running = false
	switch {
	case fl.lost():
		fl.breakPromise()
	case fl.spend():
		fl.advanced(timeouts, 1)
		fl.retry.resending = false
		fl.rewind()
	}
}

// leave forwards Local's DREQ when Remote has acknowledged every request before it. The flow stays in the table,
// silent, until its QPNs are used again, so that late packets of the connection do not create a new flow.
func (fl *flow) leave() {
	if !fl.leaving || fl.state == promising && fl.una != fl.exp {
		return
	}
	fl.leaving = false
	for fl.dreq.n > 0 {
		fl.box.pass(engine.WAN, &fl.dreq.at(0).frame)
		fl.dreq.drop()
	}
	fl.stop(silent)
}
