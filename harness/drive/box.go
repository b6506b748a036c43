package drive

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/engine/tamper"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Box drives the Middlebox of an implementation as Endpoint drives engines: it checks arriving frames, reports the
// events of the box, and keeps its counters. The caller provides the lines, the devices and the clock.
type Box struct {
	box      engine.Middlebox
	observer Observer         // nil for none
	alter    tamper.BoxFrames // nil for none
	qps      int              // number of connections
	first    uint32           // QPN of connection 0 at B
	ready    [2]bool          // by engine.Port: the box may have a frame to send
	frame    roce.Frame       // current frame, decoded
	event    trace.Event      // current event
	broke    map[int]bool     // connections on which the box has broken a promise
	count    map[string]int64 // last reported values of the box's counters, and badFrames
}

// badFrames counts frames that were dropped before the box because of their ICRC or form.
const badFrames = "bad_frame"

// NewBox builds the box of an implementation that has one. The error names the parameter that it rejects.
func NewBox(s *scenario.Spec, impl *engine.Implementation, o Observer) (*Box, error) {
	box, err := impl.NewBox(engine.BoxConfig{Params: s.Params, RTT: s.RTT(), Detail: s.Reads.Detail})
	if err != nil {
		return nil, fmt.Errorf("box of %s: %w", impl.Name, err)
	}
	box, alter := tamper.OpenBox(box)
	return &Box{box: box, observer: o, alter: alter, qps: s.QPs, first: s.Ends(0)[trace.B].QPN,
		broke: map[int]bool{}, count: map[string]int64{}}, nil
}

// Acts returns the attributes with which the box stands in for A; see engine.Middlebox.
func (b *Box) Acts(q engine.QP) engine.QP { return b.box.Acts(q) }

// ReceiveFrame processes the bytes of a frame that arrived at a port. A frame that does not decode or has a wrong ICRC
// is dropped and counted.
func (b *Box) ReceiveFrame(now vtime.Time, from engine.Port, raw []byte) {
	if b.frame.Decode(raw) != nil || !b.frame.ICRCOK(raw) {
		b.count[badFrames]++
		return
	}
	b.Receive(now, from, &b.frame)
}

// Receive processes a decoded frame with a valid ICRC; the frame belongs to the caller.
func (b *Box) Receive(now vtime.Time, from engine.Port, f *roce.Frame) {
	b.box.HandleFrame(now, from, f)
	b.heard(now)
}

// Transmit fills f with the next frame for a port whose line is free and reports whether there was one. Its payload is
// valid until the next call of Receive, ReceiveFrame or Transmit.
func (b *Box) Transmit(now vtime.Time, to engine.Port, f *roce.Frame) bool {
	if !b.box.PollTransmit(now, to, f) {
		b.ready[to] = false
		return false
	}
	b.heard(now)
	return true
}

// Ready reports whether Transmit may have a frame for a port.
func (b *Box) Ready(to engine.Port) bool { return b.ready[to] }

// Emit returns the bytes to be sent for an encoded frame. They differ from the encoded frame only if Alters is true.
func (b *Box) Emit(to engine.Port, frame []byte) []byte {
	if b.alter == nil {
		return frame
	}
	return b.alter(to, frame)
}

// Alters reports whether Emit may change a frame.
func (b *Box) Alters() bool { return b.alter != nil }

// Deadline returns the time at which Wake has to be called; vtime.Never if no timer runs.
func (b *Box) Deadline() vtime.Time {
	if at, ok := b.box.PollTimer(); ok {
		return at
	}
	return vtime.Never
}

// Wake processes the expiry of the deadline.
func (b *Box) Wake(now vtime.Time) {
	b.box.HandleTimer(now)
	b.heard(now)
}

// Idle reports whether the box will do nothing until a frame arrives.
func (b *Box) Idle() bool {
	return !b.ready[engine.LAN] && !b.ready[engine.WAN] && b.Deadline() == vtime.Never
}

// heard drains the events of the box after a call, and marks both ports ready, because the call may have queued frames.
func (b *Box) heard(now vtime.Time) {
	b.ready = [2]bool{true, true}
	for ev, ok := b.box.PollEvent(); ok; ev, ok = b.box.PollEvent() {
		b.report(now, &ev)
	}
}

// report passes an event of the box to the observer, as an event of side A on the second hop of the connection.
func (b *Box) report(now vtime.Time, ev *engine.BoxEvent) {
	conn := 0
	if i := int64(ev.QPN) - int64(b.first); i >= 0 && i < int64(b.qps) {
		conn = int(i)
	}
	kind := trace.Probe
	if ev.Count {
		kind = trace.Count
		b.count[ev.Name] = ev.Value
		b.broke[conn] = b.broke[conn] || ev.Name == engine.BrokenPromise
	}
	b.event = trace.Event{At: now, Side: trace.A, Conn: b.qps + conn, Kind: kind, Name: ev.Name, Value: ev.Value}
	if b.observer != nil {
		b.observer.Event(&b.event)
	}
}

// Counters returns the counters of the box and of this driver, by name.
func (b *Box) Counters() map[string]int64 { return b.count }

// Broke reports whether the box has broken a promise on connection i. Requests of A that completed there may then not
// have been executed: see Doubt.
func (b *Box) Broke(i int) bool { return b.broke[i] }

// Doubt marks all requests as not known to be done, before memory is compared with them.
func Doubt(work []Work) {
	for k := range work {
		work[k].Done = false
	}
}
