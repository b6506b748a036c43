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

// Box drives the Middlebox of an implementation as Endpoint drives engines: it checks what arrives, reports what the
// box tells, and counts. Lines, devices and the clock are its caller's.
type Box struct {
	box      engine.Middlebox
	observer Observer
	alter    tamper.BoxFrames
	qps      int
	first    uint32 // QPN of connection 0 at B
	ready    [2]bool
	frame    roce.Frame // that arrived
	event    trace.Event
	broke    map[int]bool     // connections of which the box has broken a promise
	count    map[string]int64 // its counters as last told, and badFrames
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

// ReceiveFrame takes the bytes of a frame that arrived at a port. A frame that is not whole is dropped and counted.
func (b *Box) ReceiveFrame(now vtime.Time, from engine.Port, raw []byte) {
	if b.frame.Decode(raw) != nil || !b.frame.ICRCOK(raw) {
		b.count[badFrames]++
		return
	}
	b.Receive(now, from, &b.frame)
}

// Receive takes a frame that is known to be whole, and is the caller's.
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

// Emit returns an encoded frame as it leaves a port; Alters tells whether that may differ from what was encoded.
func (b *Box) Emit(to engine.Port, frame []byte) []byte {
	if b.alter == nil {
		return frame
	}
	return b.alter(to, frame)
}

// Alters reports whether Emit may change a frame.
func (b *Box) Alters() bool { return b.alter != nil }

// Deadline returns when Wake has to be called, vtime.Never when no timer runs.
func (b *Box) Deadline() vtime.Time {
	if at, ok := b.box.PollTimer(); ok {
		return at
	}
	return vtime.Never
}

// Wake tells the box that its deadline has come.
func (b *Box) Wake(now vtime.Time) {
	b.box.HandleTimer(now)
	b.heard(now)
}

// Idle reports whether the box does nothing any more unless a frame arrives.
func (b *Box) Idle() bool {
	return !b.ready[engine.LAN] && !b.ready[engine.WAN] && b.Deadline() == vtime.Never
}

// heard takes what the box tells after a call, which may also have given it something to send.
func (b *Box) heard(now vtime.Time) {
	b.ready = [2]bool{true, true}
	for ev, ok := b.box.PollEvent(); ok; ev, ok = b.box.PollEvent() {
		b.report(now, &ev)
	}
}

// report hands on what the box tells about a connection, as the end A of its second hop.
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

// Counters returns what has been counted, by name.
func (b *Box) Counters() map[string]int64 { return b.count }

// Broke reports whether the box has broken a promise of connection i. What A was told is done there need not be done:
// see Doubt.
func (b *Box) Broke(i int) bool { return b.broke[i] }

// Doubt takes back that requests are done, before memory is compared with them.
func Doubt(work []Work) {
	for k := range work {
		work[k].Done = false
	}
}
