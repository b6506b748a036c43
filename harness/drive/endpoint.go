// Package drive is an endpoint: all QPs of one host around their engines, with memory, a workload and one port.
//
// An Endpoint is as sans-IO as the engines in it. A bench hands it the frames or packets that arrive, wakes it at its
// deadline, and pulls packets from it when the line is free. The same code runs in virtual time and in a process behind
// a real interface, so the two benches differ in the clock and the link only.
//
// The cost of a packet does not depend on how many other QPs are idle: QPs with something to send form a ring and are
// served one packet each in turn; deadlines form a heap that is touched only when one moves nearer.
package drive

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Observer takes what the endpoint reports. The event is valid during the call only.
type Observer interface {
	Event(*trace.Event)
}

// Options are the choices of a bench that are not part of a Spec.
type Options struct {
	Bytes    bool     // regions have bytes; otherwise packets carry lengths only
	Observer Observer // nil discards reports
}

// Endpoint is one host of a run.
type Endpoint struct {
	side     trace.Side
	spec     *scenario.Spec
	observer Observer
	memory   *memory.Host
	layout   layout
	qps      []qp
	ready    ring
	timers   deadlines
	script   script
	checks   checks
	now      vtime.Time
	soonest  vtime.Time // while woken: the next time at which a timer may fire
	current  int        // connection whose engine is being called, for placements
	pending  int        // signalled work requests that have not completed
	event    trace.Event
	frame    roce.Frame

	// What the implementation makes of whole frames; nil for one that leaves them alone.
	frameOut, frameIn func([]byte) []byte
	impl              engine.Implementation
}

// The halves of a QP.
const (
	requester = iota
	responder
)

// qp is one QP: its two halves and its share of the workload.
type qp struct {
	half [2]engine.Engine
	// want says which half may have something to send; a half that reported nothing is not asked again before it has
	// been given an input. due is when it wants to be woken.
	want     [2]bool
	due      [2]vtime.Time
	queued   bool // in the ring
	answered bool // the packet before was a READ response
	failed   bool
	req      engine.Requester
	resp     engine.Responder
	attr     engine.QP
	loads    []load
	recvs    int          // receives posted so far
	armed    vtime.Time   // transport timer as last reported
	vars     []engine.Var // variables as last reported
}

// New builds the endpoint of one side. The error names the attribute or parameter that cannot be had.
func New(s *scenario.Spec, side trace.Side, impl engine.Implementation, opts Options) (*Endpoint, error) {
	e := &Endpoint{side: side, spec: s, observer: opts.Observer, memory: &memory.Host{}, layout: newLayout(s, side)}
	if err := e.layout.register(e.memory, opts.Bytes, s.Seed); err != nil {
		return nil, err
	}
	e.qps = make([]qp, s.QPs)
	e.ready.init(s.QPs)
	e.timers.init(s.QPs)
	e.checks.init(s, side, &impl)
	e.impl, e.frameOut, e.frameIn = impl, impl.FrameOut, impl.FrameIn
	if s.Reads.Detail {
		e.memory.Watch = e.reportStore
	}
	host, err := impl.Host(s.Params)
	if err != nil {
		return nil, fmt.Errorf("%s at %s: %w", impl.Name, side, err)
	}
	for i := range e.qps {
		attr := s.Ends(i)[side]
		req, resp, err := host.New(attr, e.memory)
		if err != nil {
			return nil, fmt.Errorf("%s at %s: %w", impl.Name, side, err)
		}
		e.qps[i] = qp{half: [2]engine.Engine{req, resp}, req: req, resp: resp, attr: attr, loads: newLoads(s, side),
			due: [2]vtime.Time{vtime.Never, vtime.Never}, armed: vtime.Never}
	}
	e.script.init(s, side)
	return e, nil
}

// Start posts the first receives and work requests.
func (e *Endpoint) Start(now vtime.Time) {
	e.now = now
	e.reportRegions()
	for i := range e.qps {
		for n := 0; n < e.spec.Receives; n++ {
			e.postReceive(i)
		}
		e.pump(i)
		e.drain(i, requester)
		e.drain(i, responder)
	}
	e.runScript()
}

// Receive hands the packet to the QP that it is addressed to, if it passes the checks below the transport.
func (e *Endpoint) Receive(now vtime.Time, p *roce.Packet) {
	i, ok := e.admit(now, p)
	if !ok {
		return
	}
	e.now, e.current = now, i
	h := responder
	if p.Opcode.IsResponse() {
		h = requester
	}
	q := &e.qps[i]
	q.half[h].HandlePacket(now, p)
	q.want[h] = true
	e.drain(i, h)
}

// Transmit fills p with the next packet of the endpoint and returns the connection it belongs to; ok is false when no QP
// has anything to send now.
func (e *Endpoint) Transmit(now vtime.Time, p *roce.Packet) (conn int, ok bool) {
	e.now = now
	for {
		i, any := e.ready.next()
		if !any {
			return 0, false
		}
		e.current, e.qps[i].queued = i, false
		if e.poll(i, now, p) {
			return i, true
		}
	}
}

// poll asks the responder first: acknowledgements are short and let the peer go on. READ responses are not, so after one
// of them it is the requester's turn.
func (e *Endpoint) poll(i int, now vtime.Time, p *roce.Packet) bool {
	q := &e.qps[i]
	h := responder
	if q.answered {
		h = requester
	}
	q.answered = false
	for range q.half {
		if q.want[h] {
			sent := q.half[h].PollTransmit(now, p)
			q.want[h] = sent
			e.drain(i, h) // queues the QP again, behind the others
			if sent {
				q.answered = h == responder && p.Opcode.IsReadResponse()
				return true
			}
		}
		h = 1 - h
	}
	return false
}

// Ready reports whether Transmit may have something.
func (e *Endpoint) Ready() bool { return e.ready.n > 0 }

// Deadline returns when Wake wants to be called next.
func (e *Endpoint) Deadline() vtime.Time { return min(e.timers.first(), e.script.next()) }

// Settle brings the earliest deadline up to date and reports whether it was: deadlines that moved away are left where
// they were, and a clock that jumps from one to the next would stop at each for nothing.
func (e *Endpoint) Settle() bool {
	at := e.timers.first()
	if at >= e.script.next() {
		return true
	}
	i := int(e.timers.heap[0])
	real := max(min(e.qps[i].due[requester], e.qps[i].due[responder]), e.soonest)
	if real <= at {
		return true
	}
	e.timers.pop()
	if real != vtime.Never {
		e.timers.atMost(i, real)
	}
	return false
}

// Wake runs everything that is due at now. An engine whose timer does not move on is woken once, not for ever.
func (e *Endpoint) Wake(now vtime.Time) {
	e.now, e.soonest = now, now+1
	defer func() { e.soonest = 0 }()
	for e.timers.first() <= now {
		i := e.timers.pop()
		q := &e.qps[i]
		e.current = i
		for h := range q.half {
			q.half[h].HandleTimer(now)
			q.want[h], q.due[h] = true, vtime.Never
		}
		e.drain(i, requester)
		e.drain(i, responder)
	}
	e.runScript()
}

// drain takes what one half of a QP has to say after it was called, and notes what it wants: to send, and to be woken.
func (e *Endpoint) drain(i, h int) {
	q := &e.qps[i]
	e.events(i, h)
	if e.spec.Reads.Detail {
		e.reportVars(i)
	}
	if !q.queued && (q.want[requester] || q.want[responder]) {
		q.queued = true
		e.ready.push(i)
	}
	e.arm(i, h)
}

// events takes what a half has to tell. Acting on one may bring another, as a post that fails at once does.
func (e *Endpoint) events(i, h int) {
	for half := e.qps[i].half[h]; ; {
		ev, ok := half.PollEvent()
		if !ok {
			return
		}
		e.handle(i, &ev)
	}
}

// handle acts on one event of an engine and reports it.
func (e *Endpoint) handle(i int, ev *engine.Event) {
	switch ev.Kind {
	case engine.CQE:
		e.report(i, trace.CQE, ev)
		e.completed(i, ev)
	case engine.ReceiveCQE:
		e.report(i, trace.Recv, ev)
		if e.spec.Replenish && !e.qps[i].failed {
			e.postReceive(i)
		}
	case engine.Timeout:
		e.report(i, trace.Timeout, ev)
	case engine.Fatal:
		e.report(i, trace.Fatal, ev)
		e.fail(i)
	}
}

// fail flushes both halves of a QP when one has failed, and hears what that completed.
func (e *Endpoint) fail(i int) {
	q := &e.qps[i]
	if q.failed {
		return
	}
	q.failed = true
	for h := range q.half {
		q.half[h].Flush(e.now)
	}
	for h := range q.half {
		e.events(i, h)
	}
	for h := range q.half {
		e.arm(i, h)
	}
}

// arm notes when a half wants to be woken. A deadline of the QP that moved away is left where it is in the heap: waking
// early is harmless and cheaper than sifting the heap on every acknowledgement.
func (e *Endpoint) arm(i, h int) {
	q := &e.qps[i]
	at, ok := q.half[h].PollTimer()
	if !ok {
		at = vtime.Never
	}
	q.due[h] = at
	if e.spec.Reads.Detail && h == requester && at != q.armed {
		q.armed = at
		e.reportTimer(i, at)
	}
	if at = min(q.due[requester], q.due[responder]); at != vtime.Never {
		e.timers.atMost(i, max(at, e.soonest))
	}
}

// Idle reports whether all posted work has completed and no more will be posted.
func (e *Endpoint) Idle() bool {
	return e.pending == 0 && e.script.next() == vtime.Never
}

// Vars returns the variables of connection i's engines, the requester's first.
func (e *Endpoint) Vars(i int) []engine.Var {
	var vars []engine.Var
	for _, half := range []any{e.qps[i].req, e.qps[i].resp} {
		if in, ok := half.(engine.Inspector); ok {
			vars = append(vars, in.Vars()...)
		}
	}
	return vars
}

// Pending returns how many signalled work requests have not completed.
func (e *Endpoint) Pending() int { return e.pending }

// Shortfall says what of the counted work will never be done, "" when nothing. Call it when nothing more will happen.
func (e *Endpoint) Shortfall() string {
	if e.pending > 0 {
		return fmt.Sprintf("%d requests of %s never completed", e.pending, e.side)
	}
	for i := range e.qps {
		undone, total := 0, 0
		for _, l := range e.qps[i].loads {
			undone, total = undone+max(0, l.Count-l.done), total+l.Count
		}
		if undone > 0 {
			return fmt.Sprintf("QP %d of %s failed with %d of its %d messages undone", i, e.side, undone, total)
		}
	}
	return ""
}

// Share returns which part of the counted work is done, 0 to 1; 1 when there is none.
func (e *Endpoint) Share() float64 {
	done, total := 0, 0
	for i := range e.qps {
		for _, l := range e.qps[i].loads {
			done += l.done
			total += l.Count
		}
	}
	if total == 0 {
		return 1
	}
	return float64(done) / float64(total)
}
