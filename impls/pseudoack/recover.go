package pseudoack

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// retry is how far recovery on the WAN has got since the last progress, which resets it.
type retry struct {
	spent int
	rnr   int        // RNR NAKs in a row
	going bool       // the answer to a NAK is on its way; further ones of the same gap change nothing
	until vtime.Time // end of an RNR wait; 0 when there is none
}

// goBack sends everything from una on again because Remote, explicitly or by implication, says that una is missing.
func (fl *flow) goBack() {
	switch {
	case fl.lost():
		fl.breakPromise()
	case fl.retry.going:
	case fl.spend():
		fl.retry.going = true
		fl.rewind()
	}
}

// lost reports whether the oldest request that Remote has not acknowledged is one that the box has promised and not
// kept.
func (fl *flow) lost() bool { return fl.paper() && fl.una.Less(fl.acked) }

// spend uses up one retry. When none is left the flow is given up.
func (fl *flow) spend() bool {
	if fl.retry.spent == fl.box.cfg.retry {
		fl.giveUp()
		return false
	}
	fl.retry.spent++
	fl.advanced(recoveries, 1)
	return true
}

// giveUp ends a flow whose Remote does not answer. When nothing is promised, Local's own timer will find out.
func (fl *flow) giveUp() {
	if fl.una.Less(fl.acked) {
		fl.breakPromise()
		return
	}
	fl.stop(silent)
}

// rewind puts the cursor on the oldest request: go-back-N.
func (fl *flow) rewind() {
	fl.timer.running = false
	fl.nxt, fl.cur = fl.una, 0
	fl.wake()
}

// rnrForever is the RNR retry count that means without limit (IBTA 9.7.5.2.8).
const rnrForever = 7

// notReady waits as long as Remote asks for and then sends the request again, as often as Local would: the set-up tells
// how often that is (IBTA 9.7.5.2.8).
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

// handleTimer ends an RNR wait or that for a replay, or finds that Remote has been silent for wan_rto. Without a buffer
// silence cannot be told from loss, and there is nothing to ask with: the promise counts as broken.
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
		fl.retry.going = false
		fl.rewind()
	}
}

// leave lets Local's DREQ go when Remote has everything that came before it. The flow stays in the table, silent, until
// its numbers are used again: what is still in the air of it is nobody's.
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
