package pseudoack

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// promise sends Local the acknowledgement or NAK that the state allows: "to quickly return an ACK message to reduce its
// waiting time" (section 5.1). It is called after each event that may allow one: a request arrived, Remote
// acknowledged, a READ was answered.
func (fl *flow) promise() {
	if !fl.mayPromise() {
		return
	}
	if t := fl.eligible(); t.ok && fl.acked.LessEq(t.psn) {
		fl.acknowledge(t)
	}
	// A NAK acknowledges all PSNs before its own, so the same conditions hold for it.
	if fl.gap && !fl.gapNAKSent && fl.holds.Len() == 0 {
		fl.gapNAKSent = true
		fl.acked, fl.told = fl.exp, point{fl.exp.Prev(), fl.count, true}
		fl.answer(roce.SyndromePSNSeqErr, fl.exp, fl.count)
	}
}

// mayPromise reports whether the box may send a pseudo-ACK: it knows Local's QPN and MSN, no replay is being waited
// for, and all accepted requests fit the buffer.
func (fl *flow) mayPromise() bool {
	return fl.state == promising && fl.replay.until == 0 && (fl.paper() || fl.buffer.bytes <= fl.box.cfg.buffer)
}

// paper reports whether the box works as in the paper: a request that is acknowledged to Local leaves the buffer when
// it has been sent.
func (fl *flow) paper() bool { return fl.box.cfg.buffer == 0 }

// eligible returns the newest request that may be acknowledged to Local: none after a READ or atomic that is not
// answered.
func (fl *flow) eligible() point {
	if fl.holds.Len() > 0 {
		return fl.holds.At(0).before
	}
	return fl.asked
}

// acknowledge promises everything up to t.
func (fl *flow) acknowledge(t point) {
	fl.acked, fl.told = t.psn.Next(), t
	fl.release()
	fl.answer(roce.SyndromeACK, t.psn, t.count)
}

// answer makes a response as Remote would: "three parameters have to be accurately reproduced, i.e., packet sequence
// number (PSN), destination QP number (dstQPN), and message sequence number (MSN)" (section 5.2).
func (fl *flow) answer(s roce.Syndrome, p psn.PSN, count int) {
	fl.newest(fl.base.Add(count))
	f := &fl.reply
	f.Packet = roce.Packet{
		BTH:  roce.BTH{Opcode: roce.Acknowledge, PKey: f.Packet.PKey, DestQP: fl.local.qpn, PSN: p},
		AETH: roce.AETH{Syndrome: s, MSN: fl.msn},
	}
	fl.box.pass(engine.LAN, f)
}

// newest raises the MSN of generated responses and never lowers it: a repeated READ response carries a later MSN than
// at first (IBTA 9.7.7).
func (fl *flow) newest(m psn.MSN) {
	if fl.msn.Less(m) {
		fl.msn = m
	}
}

// mirror derives the headers of responses from those of a request, until a response of Remote has arrived.
func (fl *flow) mirror(f *roce.Frame) {
	if fl.heard {
		return
	}
	r := &fl.reply
	*r = *f
	r.SrcMAC, r.DstMAC, r.Src, r.Dst = f.DstMAC, f.SrcMAC, f.Dst, f.Src
	r.ID, r.DF, r.Packet = 0, true, roce.Packet{BTH: roce.BTH{PKey: f.Packet.PKey}}
}

// hear takes the headers of responses from the first response of Remote.
func (fl *flow) hear(f *roce.Frame) {
	if fl.heard {
		return
	}
	fl.heard, fl.reply = true, *f
	fl.reply.Packet = roce.Packet{BTH: roce.BTH{PKey: f.Packet.PKey}}
}

// breakPromise ends a flow whose promised requests will not be executed. Local has completed them; the box can only
// refuse the next request, so that the error does not stay silent (doc.go).
func (fl *flow) breakPromise() {
	fl.advanced(brokenPromise, int64(max(1, fl.told.count-fl.done)))
	fl.stop(breaking)
	if fl.acked.Less(fl.exp) {
		fl.refuse()
	}
}

// refuse answers the oldest request that is not acknowledged to Local with a fatal NAK.
func (fl *flow) refuse() {
	fl.answer(roce.SyndromeRemoteOp, fl.acked, fl.told.count)
	fl.stop(silent)
}

// stop ends the service of the flow and releases a DREQ that waited.
func (fl *flow) stop(s state) {
	if s == silent && fl.state != silent && !fl.gone {
		fl.box.ended++
	}
	fl.state = s
	fl.timer.running, fl.retry.until, fl.cur = false, 0, 0
	fl.replay = replay{}
	fl.buffer.clear()
	fl.leave()
}
