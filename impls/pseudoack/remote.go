package pseudoack

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// response handles a response of Remote. An ACK is not forwarded, because the box sends its own; data is.
func (fl *flow) response(now vtime.Time, f *roce.Frame) {
	p := &f.Packet
	fl.hear(f)
	switch {
	case fl.state > promising:
	case p.Opcode != roce.Acknowledge:
		fl.data(now, f)
	case p.PSN.In(fl.una, fl.max):
		fl.acknowledgement(now, f)
	}
}

// acknowledgement handles an ACK or NAK of an outstanding request. Each acknowledges all PSNs before its own (IBTA
// 9.7.5.1, 9.7.5.2).
func (fl *flow) acknowledgement(now vtime.Time, f *roce.Frame) {
	p := &f.Packet
	switch s := p.AETH.Syndrome; {
	case s.IsACK():
		if fl.state == watching {
			fl.learn(p)
		}
		fl.done = p.AETH.MSN.Sub(fl.base)
		if !fl.advance(now, p.PSN.Next()) {
			fl.goBack() // an ACK of a request after a READ whose data is missing is an implied NAK
		}
	case s.IsRNR():
		fl.notReady(now, f, roce.RNRTimer(s.Timer()))
	case s == roce.SyndromePSNSeqErr:
		fl.advance(now, p.PSN)
		fl.goBack()
	case s == roce.SyndromeInvalidReq, s == roce.SyndromeRemoteAccess, s == roce.SyndromeRemoteOp:
		fl.refused(now, f)
	}
}

// advance acknowledges all PSNs before upTo. It stops at a READ or atomic whose data has not arrived and reports false.
func (fl *flow) advance(now vtime.Time, upTo psn.PSN) bool {
	to := upTo
	if h := fl.owed(); h != nil && h.got.Less(to) {
		to = h.got
	}
	for i := range fl.holds.Len() {
		if h := fl.holds.At(i); !h.fetch && h.end.LessEq(to) {
			h.next = h.end // a request that looked invalid to the box and that Remote executed
		}
	}
	fl.settle()
	if fl.una.Less(to) {
		fl.una = to
		fl.progress(now)
	}
	return to == upTo
}

// progress is called after every move of una: it frees the buffer, reloads the retries, restarts the timer while
// requests are outstanding, and promises requests that waited for room.
func (fl *flow) progress(now vtime.Time) {
	fl.release()
	fl.retry = retry{}
	if fl.nxt.LessEq(fl.una) {
		fl.nxt = fl.una
		fl.timer.running = false
	} else {
		fl.restart(now)
	}
	fl.promise()
	fl.wake()
	fl.leave()
}

// release frees the requests before una. The cursor stays at its request, or moves to the oldest that is left.
func (fl *flow) release() {
	for fl.buffer.n > 0 {
		end := fl.buffer.at(0).end
		if !end.LessEq(fl.una) && !(fl.paper() && fl.cur > 0 && end.LessEq(fl.acked)) {
			return
		}
		fl.buffer.drop()
		fl.cur = max(0, fl.cur-1)
	}
}

// refused handles a fatal NAK. If the request was acknowledged to Local, the promise is broken; otherwise the NAK is
// forwarded unchanged. Remote's QP is now in error and answers no further request.
func (fl *flow) refused(now vtime.Time, f *roce.Frame) {
	if !fl.advance(now, f.Packet.PSN) {
		fl.goBack()
		return
	}
	if f.Packet.PSN.Less(fl.acked) {
		fl.breakPromise()
		return
	}
	fl.box.pass(engine.LAN, f)
	fl.stop(silent)
}
