package pseudoack

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// Box is the accelerator: a table of flows, and for each port the frames that wait for its line.
//
// Frames that only pass, and those that the box makes, wait in one queue per port and keep their order. Requests of
// Local wait in the buffers of their flows, which take turns on the WAN, all of them together with the data that pass.
type Box struct {
	cfg   config
	table table
	line  [2]frames        // by port
	ready ring.Ring[*flow] // flows that may have a request for the WAN
	// the latest frame for the WAN was a READ response that passed: the next is a flow's, if one has any
	yields  bool
	wakes   wakes
	soonest vtime.Time // no flow wants to be woken earlier; Never when none runs a timer
	events  ring.Ring[engine.BoxEvent]
	totals  [counters]int64
	born    int   // flows so far
	ended   int   // silent flows in the table
	dropped int64 // frames that found the queue of their port full
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

// HandleFrame implements engine.Middlebox. Requests of Local and responses of Remote are the flows' business, set-up is
// looked at, and all else passes: the box is transparent (section 5.1).
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

// fromLocal hands a request to its flow, which begins with the first one that is seen.
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

// lineLimit bounds the bytes that wait for a port outside the buffers of flows.
const lineLimit = 64 << 20

// pass sends a frame on as it is.
func (b *Box) pass(to engine.Port, f *roce.Frame) {
	if q := &b.line[to]; q.bytes+f.Len() <= lineLimit {
		q.push(f)
		return
	}
	b.dropped++
}

// PollTransmit implements engine.Middlebox. On the WAN, what passes goes before the flows: it is short, and it cannot
// be had again. READ responses are not short: after one of them it is the turn of a flow, or a long READ of Remote's
// would keep all retransmissions from leaving.
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

// transmit fills f with a request of the flow whose turn it is.
func (b *Box) transmit(now vtime.Time, f *roce.Frame) bool {
	for b.ready.Len() > 0 {
		fl, _ := b.ready.Pop()
		fl.queued = false
		if fl.transmit(now, f) {
			fl.wake() // behind the others
			fl.tell()
			return true
		}
	}
	return false
}

// HandleTimer implements engine.Middlebox. Deadlines that moved away are found out here, once per period and not with
// every acknowledgement.
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

// wakeAt asks for a call of HandleTimer for a flow at a time, or earlier.
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
