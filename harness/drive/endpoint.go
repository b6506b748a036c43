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

// qp is one QP: its two halves and its share of the workload.
type qp struct {
	req    engine.Requester
	resp   engine.Responder
	attr   engine.QP
	loads  []load
	recvs  int // receives posted so far
	queued bool
	// want says which half may have something to send; a half that reported nothing is not asked again before it has
	// been given an input.
	wantReq, wantResp bool
	answered          bool // the packet before was a READ response
	failed            bool
	armed             vtime.Time // transport timer as last reported
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
	for i := range e.qps {
		attr := s.Ends(i)[side]
		req, resp, err := impl.New(attr, e.memory)
		if err != nil {
			return nil, fmt.Errorf("%s at %s: %w", impl.Name, side, err)
		}
		e.qps[i] = qp{req: req, resp: resp, attr: attr, loads: newLoads(s, side), armed: vtime.Never}
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
		e.drain(i)
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
	q := &e.qps[i]
	if p.Opcode.IsResponse() {
		q.req.HandlePacket(now, p)
		q.wantReq = true
	} else {
		q.resp.HandlePacket(now, p)
		q.wantResp = true
	}
	e.drain(i)
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
		q := &e.qps[i]
		e.current, q.queued = i, false
		sent := q.poll(now, p)
		e.drain(i) // queues the QP again behind the others, unless it had nothing
		if sent {
			return i, true
		}
	}
}

// poll asks the responder first: acknowledgements are short and let the peer go on. READ responses are not, so after one
// of them it is the requester's turn.
func (q *qp) poll(now vtime.Time, p *roce.Packet) bool {
	if q.answered {
		q.answered = false
		return q.pollRequester(now, p) || q.pollResponder(now, p)
	}
	return q.pollResponder(now, p) || q.pollRequester(now, p)
}

func (q *qp) pollResponder(now vtime.Time, p *roce.Packet) bool {
	q.wantResp = q.wantResp && q.resp.PollTransmit(now, p)
	q.answered = q.wantResp && p.Opcode.IsReadResponse()
	return q.wantResp
}

func (q *qp) pollRequester(now vtime.Time, p *roce.Packet) bool {
	q.wantReq = q.wantReq && q.req.PollTransmit(now, p)
	return q.wantReq
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
	real, _ := e.due(i)
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
		q.req.HandleTimer(now)
		q.resp.HandleTimer(now)
		q.wantReq, q.wantResp = true, true
		e.drain(i)
	}
	e.runScript()
}

// drain takes what a QP's engines have to say after an input, refills its workload, and notes that it may send.
func (e *Endpoint) drain(i int) {
	q := &e.qps[i]
	for {
		ev, ok := q.req.PollEvent()
		if !ok {
			if ev, ok = q.resp.PollEvent(); !ok {
				break
			}
		}
		e.handle(i, ev)
	}
	if !q.queued && (q.wantReq || q.wantResp) {
		q.queued = true
		e.ready.push(i)
	}
	e.arm(i)
}

// handle acts on one event of an engine and reports it.
func (e *Endpoint) handle(i int, ev engine.Event) {
	q := &e.qps[i]
	switch ev.Kind {
	case engine.CQE:
		e.report(i, trace.CQE, ev)
		e.completed(i, ev)
	case engine.ReceiveCQE:
		e.report(i, trace.Recv, ev)
		if e.spec.Replenish && !q.failed {
			e.postReceive(i)
		}
	case engine.Timeout:
		e.report(i, trace.Timeout, ev)
	case engine.Fatal:
		e.report(i, trace.Fatal, ev)
		if !q.failed {
			q.failed = true
			q.req.Flush(e.now)
			q.resp.Flush(e.now)
		}
	}
}

// arm moves the QP's entry in the timer heap. A deadline that moved away is left where it is: waking early is harmless
// and cheaper than sifting the heap on every acknowledgement.
func (e *Endpoint) arm(i int) {
	at, transport := e.due(i)
	if q := &e.qps[i]; e.spec.Reads.Detail && transport != q.armed {
		q.armed = transport
		e.reportTimer(i, transport)
	}
	if at != vtime.Never {
		e.timers.atMost(i, max(at, e.soonest))
	}
}

// due returns when connection i wants to be woken, and its requester's part in that: the transport timer.
func (e *Endpoint) due(i int) (at, transport vtime.Time) {
	q := &e.qps[i]
	transport = vtime.Never
	if t, ok := q.req.PollTimer(); ok {
		transport = t
	}
	at = transport
	if t, ok := q.resp.PollTimer(); ok && t < at {
		at = t
	}
	return at, transport
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
