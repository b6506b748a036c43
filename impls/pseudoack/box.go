package pseudoack

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// Box is the accelerator: a table of flows, and for each port a queue of frames to send.
//
// Frames that the box forwards unchanged and frames that it generates wait in one queue per port, in order. Requests of
// Local wait in the buffers of their flows. On the WAN the flows are served round robin, and they alternate with READ
// responses that are forwarded.
type Box struct {
	cfg   config
	table table
	line  [2]frames        // frames forwarded or generated, by the port that sends them
	ready ring.Ring[*flow] // flows that may have a request to send on the WAN
	// the latest frame sent on the WAN was a forwarded READ response: a flow is served next
	yields  bool
	wakes   wakes
	soonest vtime.Time // lower bound of the flows' wake-up times; Never when no flow has one
	events  ring.Ring[engine.BoxEvent]
	totals  [counters]int64
	born    int   // flows created so far
	ended   int   // flows in the table whose state is silent
	dropped int64 // frames dropped because the queue of their port was full
}

// New builds a box without flows. The error names the parameter that it rejects.
func New(c engine.BoxConfig) (*Box, error) {
	cfg, err := parse(c.Params, c.RTT)
	if err != nil {
		return nil, err
	}
	cfg.detail = c.Detail
	return &Box{cfg: cfg, table: newTable(), soonest: vtime.Never}, nil
}

// HandleFrame implements engine.Middlebox. Requests of Local and responses of Remote go to their flows, CM messages are
// read, and all other frames are forwarded: the box is transparent (section 5.1).
func (b *Box) HandleFrame(now vtime.Time, from engine.Port, f *roce.Frame) {
	op := f.Packet.Opcode
	switch {
	case op.Class() == roce.ClassUD && f.Packet.DestQP == roce.CMQueuePair:
		b.handleCM(from, f)
	case op.Class() != roce.ClassRC:
		b.pass(from.Other(), f)
	case from == engine.LAN && op.IsRequest():
		b.fromLocal(now, f)
	case from == engine.WAN && op.IsResponse():
		b.fromRemote(now, f)
	default:
		b.pass(from.Other(), f)
	}
}

// fromLocal hands a request to its flow. The first request to a QP creates the flow.
func (b *Box) fromLocal(now vtime.Time, f *roce.Frame) {
	fl := b.table.byRequest(f)
	if fl == nil {
		if fl = b.watch(f); fl == nil {
			b.pass(engine.WAN, f)
			return
		}
	}
	fl.request(now, f)
	fl.tell()
}

// fromRemote hands a response to its flow.
func (b *Box) fromRemote(now vtime.Time, f *roce.Frame) {
	fl := b.table.byResponse(f)
	if fl == nil {
		b.pass(engine.LAN, f)
		return
	}
	fl.response(now, f)
	fl.tell()
}

// lineLimit bounds the bytes in the queue of a port; the buffers of flows do not count.
const lineLimit = 64 << 20

// pass queues a frame for a port, unchanged.
func (b *Box) pass(to engine.Port, f *roce.Frame) {
	if q := &b.line[to]; q.bytes+f.Len() <= lineLimit {
		q.push(f)
		return
	}
	b.dropped++
}

// PollTransmit implements engine.Middlebox. On the WAN, forwarded frames go before the flows: most are short, and the
// box cannot send them again. READ responses are not short: after one of them a flow is served, or the responses to a
// long READ by Remote would hold up all retransmissions.
func (b *Box) PollTransmit(now vtime.Time, to engine.Port, f *roce.Frame) bool {
	if to == engine.LAN {
		return b.line[to].pop(f)
	}
	if b.yields {
		b.yields = false
		if b.transmit(now, f) {
			return true
		}
	}
	if b.line[to].pop(f) {
		b.yields = f.Packet.Opcode.IsReadResponse()
		return true
	}
	return b.transmit(now, f)
}

// transmit fills f with a request of the next flow that has one.
func (b *Box) transmit(now vtime.Time, f *roce.Frame) bool {
	for b.ready.Len() > 0 {
		fl, _ := b.ready.Pop()
		fl.queued = false
		if fl.transmit(now, f) {
			fl.wake() // at the end of the round
			fl.tell()
			return true
		}
	}
	return false
}

// HandleTimer implements engine.Middlebox. An entry of a deadline that has moved to a later time is corrected here,
// once per period, and not at every acknowledgement.
func (b *Box) HandleTimer(now vtime.Time) {
	if now < b.soonest {
		return
	}
	b.soonest = vtime.Never
	for fl := b.wakes.first(); fl != nil; fl = b.wakes.first() {
		if fl.waits > now && fl.waits == fl.deadline() {
			b.soonest = fl.waits
			return
		}
		b.wakes.pop()
		if fl.waits <= now && !fl.gone {
			fl.handleTimer(now)
			fl.tell()
		}
		fl.waits = vtime.Never
		b.wakes.add(fl, fl.deadline())
	}
}

// wakeAt schedules a call of HandleTimer for a flow, at the given time or earlier.
func (b *Box) wakeAt(fl *flow, at vtime.Time) {
	b.soonest = min(b.soonest, at)
	b.wakes.add(fl, at)
}

// PollTimer implements engine.Middlebox.
func (b *Box) PollTimer() (vtime.Time, bool) { return b.soonest, b.soonest != vtime.Never }

// Acts implements engine.Middlebox.
func (b *Box) Acts(q engine.QP) engine.QP {
	q.RTO, q.RetryCount, q.RNRRetry = b.cfg.rto, uint8(min(b.cfg.retry, 7)), 7
	q.QueueDepth = psn.Half
	return q
}

// PollEvent implements engine.Middlebox.
func (b *Box) PollEvent() (engine.BoxEvent, bool) { return b.events.Pop() }

var _ engine.Middlebox = (*Box)(nil)
