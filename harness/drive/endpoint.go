// Package drive is an endpoint: all QPs of one host around their engines, with memory, a workload and one port.
//
// An Endpoint is as sans-IO as the engines in it. A bench hands it the frames or packets that arrive, wakes it at its
// deadline, and pulls packets from it when the line is free. The same code runs in virtual time and in a process behind
// a real interface, so the two benches differ in the clock and the link only.
//
// The cost of a packet does not depend on how many other QPs are idle: QPs with something to send form a ring and are
// served one packet each in turn, those with a retransmission that their scheme puts first in a ring of their own, before
// the others; deadlines form a heap that is touched only when one moves nearer.
package drive

import (
	"errors"
	"fmt"
	"unsafe"

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
	Managed  bool     // connections are set up and torn down by messages of the communication manager
	Streams  bool     // the host's TCP carries the QPs of an implementation that has NewStream: see Attach
}

// Endpoint is one host of a run.
type Endpoint struct {
	side     trace.Side
	spec     *scenario.Spec
	observer Observer
	memory   *memory.Host
	host     engine.Host
	layout   layout
	qps      []qp
	ready    ring // QPs with something to send
	urgent   ring // QPs with something to send again first; they may be in ready as well
	timers   deadlines
	script   script
	turns    turns
	scratch  scratch // of Verify
	checks   checks
	connect  connector
	now      vtime.Time
	soonest  vtime.Time // while woken: the next time at which a timer may fire
	storing  int        // connection whose engine is placing bytes in memory
	pending  int        // signalled work requests that have not completed
	awaiting int        // QPs to which messages are to arrive
	event    trace.Event
	frame    roce.Frame
	bytes    bool // packets have payload
	marked   bool // the packet being received met congestion

	// What the implementation makes of whole frames; nil for one that leaves them alone.
	frameOut, frameIn func([]byte) []byte
	impl              engine.Implementation
	ip                ipLayer // of an implementation that is no RoCEv2
}

// mostPorts is how many ports QPs may have, see iwarp.PortOf.
const mostPorts = 1 << 14

// The halves of a QP.
const (
	requester = iota
	responder
)

// qp is one QP: its two halves and its share of the workload. With thousands of QPs each visit finds it outside the
// processor's caches, and what that costs is counted in cache lines. So what every packet needs lies in the first, and QPs are
// as many whole lines apart.
type qp struct {
	visited
	rest
	_ [(line - unsafe.Sizeof(rest{})%line) % line]byte
}

// line is the size of a cache line in bytes.
const line = 64

// visited is what every packet needs of its QP: a cache line.
type visited struct {
	half    [2]engine.Engine
	due     [2]vtime.Time // when the halves want to be woken
	arrives vtime.Time    // the next message of the loads that arrive by the clock, while the queue has room
	// want says which half may have something to send; a half that reported nothing is not asked again before it has
	// been given an input.
	want     [2]bool
	queued   bool // in the ring of those that are ready
	rushed   bool // in the ring of those that are urgent
	answered bool // the packet before was a READ response
	failed   bool
	hurries  bool // a half is engine.Urgent
	paced    bool // pacing is not nil
}

// rest is what few packets need.
type rest struct {
	pacing   *pacing // rate control; nil is none
	attr     engine.QP
	req      engine.Requester
	resp     engine.Responder
	tcp      *carried // the host's TCP below it; nil for a QP with packets of its own
	declared []uint64 // bytes of the target region that were declared valid, a bit each
	loads    []load
	recvs    int          // receives posted so far
	armed    vtime.Time   // transport timer as last reported
	vars     []engine.Var // variables as last reported
}

// control is the rate control of the QP; nil is none.
func (q *qp) control() *pacing {
	if !q.paced {
		return nil
	}
	return q.pacing
}

// New builds the endpoint of one side. The error names the attribute or parameter that cannot be had.
func New(s *scenario.Spec, side trace.Side, impl engine.Implementation, opts Options) (*Endpoint, error) {
	e := &Endpoint{side: side, spec: s, observer: opts.Observer, memory: &memory.Host{}, layout: newLayout(s, side), bytes: opts.Bytes}
	if err := e.layout.register(e.memory, opts.Bytes); err != nil {
		return nil, err
	}
	e.qps = make([]qp, s.QPs)
	e.ready.init(s.QPs)
	e.urgent.init(s.QPs)
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
	if e.ip.init(&impl, host); e.ip.on && s.QPs > mostPorts {
		return nil, fmt.Errorf("%s at %s: %d QPs; each needs a port, and there are %d", impl.Name, side, s.QPs, mostPorts)
	}
	e.host = host
	for i := range e.qps {
		attr := s.Ends(i)[side]
		req, resp, tcp, err := e.newHalves(i, attr, opts.Streams)
		if err != nil {
			return nil, fmt.Errorf("%s at %s: %w", impl.Name, side, err)
		}
		q := &e.qps[i]
		q.visited = visited{half: [2]engine.Engine{req, resp}, due: [2]vtime.Time{vtime.Never, vtime.Never}, arrives: vtime.Never}
		q.rest = rest{req: req, resp: resp, tcp: tcp, attr: attr, loads: newLoads(s, side, i), armed: vtime.Never}
		for h := range q.half {
			_, ok := q.half[h].(engine.Urgent)
			q.hurries = q.hurries || ok
		}
	}
	e.script.init(s, side)
	e.turns.init(s, side)
	if s.Turns.Taken() && !opts.Bytes {
		return nil, errors.New("drive: turns: they depend on the bytes that come; write --codec on")
	}
	if opts.Managed && impl.OverIP() {
		return nil, fmt.Errorf("drive: cm on: %s at %s does not set connections up by RoCEv2 messages; leave cm on out", impl.Name, side)
	}
	e.connect.init(s, side, opts.Managed)
	return e, e.addPacing()
}

// Start posts the first receives and work requests. Connections that have to be set up get their receives now and their
// work when they are established.
func (e *Endpoint) Start(now vtime.Time) {
	e.now = now
	e.reportRegions()
	buffers := receives(e.spec, e.side)
	for i := range e.qps {
		for range buffers {
			e.postReceive(i)
		}
		if e.connect.open(i) {
			e.begin(i)
		}
	}
	e.connectAll()
	e.runScript()
}

// begin posts the first work requests of connection i.
func (e *Endpoint) begin(i int) {
	e.pump(i)
	e.drain(i, requester)
	e.drain(i, responder)
	e.converse()
}

// Receive hands the packet to the QP that it is addressed to, if it passes the checks below the transport.
func (e *Endpoint) Receive(now vtime.Time, p *roce.Packet) {
	e.now = now
	if e.manage(p) {
		return
	}
	i, ok := e.admit(now, p)
	if !ok {
		return
	}
	if !e.connect.open(i) && e.side == trace.B {
		e.established(i) // the RTU is late, or lost
	}
	e.now = now
	if e.congestion(now, i, p) {
		return
	}
	h := responder
	if p.ToRequester() {
		h = requester
	}
	q := &e.qps[i]
	q.half[h].HandlePacket(now, p)
	q.want[h] = true
	e.drain(i, h)
	e.converse()
}

// Transmit fills p with the next packet of the endpoint and returns the connection it belongs to; ok is false when no QP
// has anything to send now.
func (e *Endpoint) Transmit(now vtime.Time, p *roce.Packet) (conn int, ok bool) {
	e.now = now
	if i, ok := e.mad(p); ok {
		return i, true
	}
	if e.ip.pending() {
		return e.ip.fragment(p), true
	}
	for {
		i, any := e.next()
		if !any {
			return 0, false
		}
		if e.poll(i, now, p) {
			if e.ip.on {
				e.ip.send(p, i)
			}
			return i, true
		}
	}
}

// next takes the QP whose turn it is out of its ring.
func (e *Endpoint) next() (int, bool) {
	if i, ok := e.urgent.next(); ok {
		e.qps[i].rushed = false
		return i, true
	}
	i, ok := e.ready.next()
	if ok {
		e.qps[i].queued = false
	}
	return i, ok
}

// enqueue puts a QP at the end of its ring, unless it is there. One that has become urgent keeps its turn among the ready
// as well; nothing is lost when it has nothing left by then.
func (e *Endpoint) enqueue(i int) {
	q := &e.qps[i]
	switch {
	case q.rushed:
	case q.urgent():
		q.rushed = true
		e.urgent.push(i)
	case !q.queued:
		q.queued = true
		e.ready.push(i)
	}
}

// urgent reports whether a half has something to send that its scheme puts before everything new.
func (q *qp) urgent() bool {
	if !q.hurries {
		return false
	}
	for h, wants := range q.want {
		if again, ok := q.half[h].(engine.Urgent); wants && ok && again.Urgent() {
			return true
		}
	}
	return false
}

// poll asks the responder first: acknowledgements are short and let the peer go on. READ responses are not, so after one
// of them it is the requester's turn.
func (e *Endpoint) poll(i int, now vtime.Time, p *roce.Packet) bool {
	q := &e.qps[i]
	if e.notification(i, p) {
		e.enqueue(i)
		return true
	}
	h := responder
	answered := q.answered
	if answered {
		h = requester
	}
	q.answered = false
	for range q.half {
		switch {
		case !q.want[h]:
		case q.control().waits(now, h, answered):
			e.timers.atMost(i, q.pacing.next)
			q.answered = answered
		default:
			sent := q.half[h].PollTransmit(now, p)
			q.want[h] = sent
			e.drain(i, h) // queues the QP again, behind the others
			if sent {
				q.answered = h == responder && p.Opcode.IsReadResponse()
				q.control().sent(now, p)
				return true
			}
		}
		h = 1 - h
	}
	return false
}

// Ready reports whether Transmit may have something.
func (e *Endpoint) Ready() bool {
	return e.ready.n+e.urgent.n > 0 || e.ip.at > 0 || len(e.connect.out) > 0
}

// Deadline returns when Wake wants to be called next.
func (e *Endpoint) Deadline() vtime.Time { return min(e.timers.first(), e.planned()) }

// planned returns the next thing to do that is no QP's: a scripted post, or a message to be repeated.
func (e *Endpoint) planned() vtime.Time { return min(e.script.next(), e.connect.next()) }

// Settle brings the earliest deadline up to date and reports whether it was: deadlines that moved away are left where
// they were, and a clock that jumps from one to the next would stop at each for nothing.
func (e *Endpoint) Settle() bool {
	at := e.timers.first()
	if at >= e.planned() {
		return true
	}
	i := int(e.timers.heap[0])
	real := max(e.qps[i].wake(), e.soonest)
	if real <= at {
		return true
	}
	e.timers.pop()
	if real != vtime.Never {
		e.timers.atMost(i, real)
	}
	return false
}

// wake is when a QP has to be looked at next: a timer of its halves, the end of a pause of its rate control, or the arrival
// of a message to send.
func (q *qp) wake() vtime.Time {
	at := min(q.due[requester], q.due[responder], q.arrives)
	if q.paced && !q.queued && !q.rushed && (q.want[requester] || q.want[responder]) {
		at = min(at, q.pacing.next)
	}
	return at
}

// Wake runs everything that is due at now. An engine whose timer does not move on is woken once, not for ever.
func (e *Endpoint) Wake(now vtime.Time) {
	e.now, e.soonest = now, now+1
	defer func() { e.soonest = 0 }()
	for e.timers.first() <= now {
		i := e.timers.pop()
		q := &e.qps[i]
		for h := range q.half {
			q.half[h].HandleTimer(now)
			q.want[h], q.due[h] = true, vtime.Never
		}
		if q.arrives <= now {
			e.pump(i)
		}
		e.drain(i, requester)
		e.drain(i, responder)
	}
	e.runScript()
	e.repeat()
}

// drain takes what one half of a QP has to say after it was called, and notes what it wants: to send, and to be woken.
func (e *Endpoint) drain(i, h int) {
	e.events(i, h)
	if e.spec.Reads.Detail {
		e.reportVars(i)
	}
	if q := &e.qps[i]; e.connect.open(i) && (q.want[requester] || q.want[responder]) {
		e.enqueue(i)
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
		e.disconnectAll()
	case engine.ReceiveCQE:
		e.report(i, trace.Recv, ev)
		e.listened(ev)
		if e.spec.Replenish && !e.qps[i].failed {
			e.replenish(i, ev)
		}
	case engine.Declared:
		e.declare(i, ev)
		e.report(i, trace.Declared, ev)
	case engine.Lost:
		e.report(i, trace.Lost, ev)
	case engine.Refused:
		e.report(i, trace.Refused, ev)
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
	e.await(q, vtime.Never)
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
	if at = q.wake(); at != vtime.Never {
		e.timers.atMost(i, max(at, e.soonest))
	}
}

// Idle reports whether all posted work has completed, no more will be posted, and no connection is being set up or ended.
func (e *Endpoint) Idle() bool {
	return e.pending == 0 && e.awaiting == 0 && e.connect.waiting == 0 && e.script.next() == vtime.Never &&
		(e.turns.over() || e.qps[0].failed)
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

// Shared returns the variables of what the QPs share, none when they share nothing.
func (e *Endpoint) Shared() []engine.Var {
	if in, ok := e.host.(engine.Inspector); ok {
		return in.Vars()
	}
	return nil
}

// Shortfall says what of the counted work will never be done, "" when nothing. Call it when nothing more will happen.
func (e *Endpoint) Shortfall() string {
	if s := e.unconnected(); s != "" {
		return s
	}
	if e.pending > 0 {
		return fmt.Sprintf("%d requests of %s never completed", e.pending, e.side)
	}
	if s := e.turns.shortfall(); s != "" {
		return s
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
	done, total := e.turns.rounds, e.turns.Count
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
