// Package drive is an endpoint: all QPs of one host around their engines, with memory, a workload and one port.
//
// An Endpoint is as sans-IO as the engines in it. A bench hands it the frames or packets that arrive, wakes it at its
// deadline, and pulls packets from it when the line is free. The same code runs in virtual time and in a process behind
// a real interface, so the two benches differ in the clock and the link only.
//
// The cost of a packet does not depend on how many other QPs are idle: QPs with something to send form a ring and are
// served one packet each in turn, and an answer beside it, those with a retransmission that their scheme puts first in
// a ring of their own, before the others; deadlines form a heap that is touched only when one moves nearer.
package drive

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/drive/cm"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/engine/tamper"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Options are the choices of a bench that are not part of a Spec.
type Options struct {
	Bytes    bool     // regions have bytes; otherwise packets carry lengths only
	Observer Observer // nil discards reports
	Managed  bool     // connections are set up and torn down by messages of the communication manager
	Streams  bool     // the host's TCP carries the QPs of an implementation that has NewStream: see Attach
}

// Endpoint is one host of a run, as a bench sees it. Its parts each look after one concern, and engines hands them what
// the engines tell.
type Endpoint struct {
	engines engines
	port    port
	checks  checks
	connect cm.Connector
	work    poster
	script  script
	turns   turns
	out     reports
	memory  verifier
	layout  layout
	host    engine.Host
	side    trace.Side
	spec    *scenario.Spec
	impl    engine.Implementation
}

// New builds the endpoint of one side. The error names the attribute or parameter that cannot be had.
func New(s *scenario.Spec, side trace.Side, impl engine.Implementation, opts Options) (*Endpoint, error) {
	if s.Turns.Taken() && !opts.Bytes {
		return nil, errors.New("drive: turns: they depend on the bytes that come; write --codec on")
	}
	if opts.Managed && impl.OverIP() {
		return nil, fmt.Errorf("drive: cm on: %s at %s does not set connections up by RoCEv2 messages; leave cm on out",
			impl.Name, side)
	}
	e := &Endpoint{side: side, spec: s, impl: impl, layout: newLayout(s, side)}
	mem := &memory.Host{}
	if err := e.layout.register(mem, opts.Bytes); err != nil {
		return nil, err
	}
	if s.Reads.Detail {
		mem.Watch = e.out.store
	}
	e.out = reports{observer: opts.Observer, side: side, detail: s.Reads.Detail}
	e.engines.init(make([]qp, s.QPs))
	e.addParts(mem, opts)
	if err := e.addQPs(mem, opts); err != nil {
		return nil, err
	}
	return e, nil
}

// addParts makes what looks after the QPs.
func (e *Endpoint) addParts(mem *memory.Host, opts Options) {
	s, qps := e.spec, e.engines.qps
	e.checks.init(s, e.side, &e.impl, &e.out)
	e.work = poster{qps: qps, layout: &e.layout, out: &e.out, until: endOf(s), replaces: s.Replenish}
	e.script.init(s, e.side)
	e.script.work, e.script.checks = &e.work, &e.checks
	e.turns.init(s, e.side, &e.work, mem)
	e.connect = cm.New(s, e.side, opts.Managed, Addr(e.side), Addr(e.side.Other()))
	e.memory = verifier{memory: mem, qps: qps, layout: &e.layout, script: &e.script, spec: s,
		declares: slices.Contains(e.impl.Features, engine.Unreliable)}
	e.engines.out, e.engines.connect, e.engines.work = &e.out, &e.connect, &e.work
	e.engines.script, e.engines.turns, e.engines.memory = &e.script, &e.turns, &e.memory
}

// addQPs makes the engines of all QPs, and the port that their implementation asks for.
func (e *Endpoint) addQPs(mem *memory.Host, opts Options) error {
	refused := func(err error) error { return fmt.Errorf("%s at %s: %w", e.impl.Name, e.side, err) }
	s := e.spec
	host, err := e.impl.Host(s.Params)
	if err != nil {
		return refused(err)
	}
	var frames tamper.Frames
	e.host, frames = tamper.Open(host)
	if err = e.port.init(&e.impl, e.host, frames, s.QPs, &e.checks); err != nil {
		return refused(err)
	}
	for i := range e.engines.qps {
		attr := s.Ends(i)[e.side]
		made, err := newHalves(&e.impl, e.host, attr, e.out.memoryOf(i, mem), opts.Streams)
		if err != nil {
			return refused(err)
		}
		control, err := newPacing(s, e.side, &attr, opts.Bytes)
		if err != nil {
			return fmt.Errorf("drive: %w", err)
		}
		e.engines.qps[i].init(made, attr, newLoads(s, e.side, i), control)
	}
	e.checks.cnps = e.engines.qps[0].paced
	return nil
}

// Start posts the first receives and work requests. Connections that have to be set up get their receives now and their
// work when they are established.
func (e *Endpoint) Start(now vtime.Time) {
	e.out.now = now
	if e.out.detail {
		e.introduce()
	}
	buffers := receives(e.spec, e.side)
	for i := range e.engines.qps {
		for range buffers {
			e.work.receive(i)
		}
		if e.connect.Open(i) {
			e.engines.start(i)
		}
	}
	e.connect.Start(now)
	e.engines.post()
}

// ReceiveFrame decodes a frame and hands its packet on; frames that are not the transport's are none of the endpoint's
// business.
func (e *Endpoint) ReceiveFrame(now vtime.Time, b []byte) { e.receiveFrame(now, b, nil) }

// ReceiveSummed is ReceiveFrame for whoever knows the CRC-32 of the payload, so that its bytes are not read for the
// ICRC.
func (e *Endpoint) ReceiveSummed(now vtime.Time, b []byte, payload uint32) {
	e.receiveFrame(now, b, &payload)
}

func (e *Endpoint) receiveFrame(now vtime.Time, b []byte, payload *uint32) {
	e.out.now = now
	if e.port.overIP {
		if i, p := e.port.openIP(now, b); p != nil {
			e.engines.receiveIP(i, p)
		}
		return
	}
	if f := e.port.open(b, payload); f != nil {
		e.receive(now, &f.Packet, f.TOS&congested == congested)
	}
}

// Receive hands the packet to the QP that it is addressed to, if it passes the checks below the transport.
func (e *Endpoint) Receive(now vtime.Time, p *roce.Packet) { e.receive(now, p, false) }

// ReceiveMarked is Receive for a packet that the link marked as having met congestion.
func (e *Endpoint) ReceiveMarked(now vtime.Time, p *roce.Packet) { e.receive(now, p, true) }

func (e *Endpoint) receive(now vtime.Time, p *roce.Packet, marked bool) {
	e.out.now = now
	if e.connect.Takes(p) {
		if i, opened := e.connect.Receive(now, p); opened {
			e.engines.start(i)
		}
		return
	}
	i, ok := e.checks.admit(p)
	if !ok {
		return
	}
	if !e.connect.Open(i) && e.connect.Data(i) {
		e.engines.start(i)
	}
	if c := e.engines.qps[i].control(); c != nil {
		if c.arrived(now, p, marked) {
			e.engines.enqueue(i)
		}
		if p.Opcode == roce.CNP {
			return
		}
	}
	e.engines.receive(i, p)
}

// Transmit fills p with the next packet of the endpoint and returns the connection it belongs to; ok is false when no
// QP has anything to send now.
func (e *Endpoint) Transmit(now vtime.Time, p *roce.Packet) (conn int, ok bool) {
	e.out.now = now
	if e.connect.Pending() {
		return e.connect.Transmit(p)
	}
	if e.port.ip.Pending() {
		return e.port.ip.Next(p), true
	}
	conn, ok = e.engines.transmit(p)
	if ok && e.port.overIP {
		e.port.ip.Send(p, conn)
	}
	return conn, ok
}

// Attach gives connection i its socket, before Start.
func (e *Endpoint) Attach(i int, s Socket) { e.engines.qps[i].tcp.socket = s }

// TCP returns what the stream of connection i asks of its socket.
func (e *Endpoint) TCP(i int) engine.TCPOptions { return e.engines.qps[i].tcp.stream.TCP() }

// Serve takes what the socket of connection i has to tell: what is acknowledged completes before what arrived behind it
// is looked at.
func (e *Endpoint) Serve(now vtime.Time, i int) {
	e.out.now = now
	q := &e.engines.qps[i]
	q.tcp.serve(now)
	q.want[requester] = true
	e.engines.drain(i, requester)
}

// Carry gives the sockets what the streams have to send, one FPDU of each in turn, until there is no more or the
// sockets that could take it are full. One that has room again is Served, which continues.
func (e *Endpoint) Carry(now vtime.Time) {
	e.out.now = now
	for i, _, any := e.engines.next(); any; i, _, any = e.engines.next() {
		q := &e.engines.qps[i]
		q.want[responder] = false
		q.want[requester] = q.tcp.carry()
		e.engines.drain(i, requester)
	}
}

// Ready reports whether Transmit may have something.
func (e *Endpoint) Ready() bool {
	return e.engines.any() || e.port.ip.Pending() || e.connect.Pending()
}

// Deadline returns when Wake wants to be called next.
func (e *Endpoint) Deadline() vtime.Time { return min(e.engines.timers.first(), e.planned()) }

// planned returns the next thing to do that is no QP's: a scripted post, or a message to be repeated.
func (e *Endpoint) planned() vtime.Time { return min(e.script.next(), e.connect.Deadline()) }

// Settle brings the earliest deadline up to date and reports whether it was: deadlines that moved away are left where
// they were, and a clock that jumps from one to the next would stop at each for nothing.
func (e *Endpoint) Settle() bool { return e.engines.settle(e.planned()) }

// Wake runs everything that is due at now.
func (e *Endpoint) Wake(now vtime.Time) {
	e.out.now = now
	e.engines.wake()
	e.connect.Wake(now)
}

// Idle reports whether all posted work has completed, no more will be posted, and no connection is being set up or
// ended.
func (e *Endpoint) Idle() bool { return e.engines.idle() }

// Vars returns the variables of connection i's engines, the requester's first.
func (e *Endpoint) Vars(i int) []engine.Var { return e.engines.qps[i].inspect(nil) }

// Shared returns the variables of what the QPs share, none when they share nothing.
func (e *Endpoint) Shared() []engine.Var {
	if in, ok := e.host.(engine.Inspector); ok {
		return in.Vars(nil)
	}
	return nil
}

// Counters returns how many packets each check dropped, by its name, without those that are zero.
func (e *Endpoint) Counters() map[string]int64 { return e.checks.counters() }

// Share returns which part of the counted work is done, 0 to 1; 1 when there is none.
func (e *Endpoint) Share() float64 { return e.engines.share() }

// Shortfall says what of the counted work will never be done, "" when nothing. Call it when nothing more will happen.
func (e *Endpoint) Shortfall() string {
	if s := e.connect.Shortfall(); s != "" {
		return s
	}
	if e.work.pending > 0 {
		return fmt.Sprintf("%d requests of %s never completed", e.work.pending, e.side)
	}
	if s := e.turns.shortfall(); s != "" {
		return s
	}
	return e.work.shortfall()
}

// TOS is the type of service of the endpoint's frames: ECN-capable when its QPs are rate controlled.
func (e *Endpoint) TOS() uint8 {
	if e.engines.qps[0].paced {
		return capable
	}
	return 0
}

// Emit returns an encoded frame as it leaves the endpoint, which may be in other memory. It is the frame itself unless
// the implementation changes whole frames; Alters tells.
func (e *Endpoint) Emit(frame []byte) []byte { return e.port.emit(frame) }

// Alters reports whether Emit may change a frame.
func (e *Endpoint) Alters() bool { return e.port.frames.Out != nil }

// ConnOf finds the connection of a packet that arrives with these ports: by the peer's port, or by that of this end.
func (e *Endpoint) ConnOf(src, dst uint16) (conn int, ok bool) { return e.checks.connOf(src, dst) }

// Verify compares the memory of connection i with what requests should have made of it, and reports the result as
// Memory events: "mismatch" counts bytes inside a written range that are wrong, "guard" bytes that no request named and
// that changed nevertheless. It looks at what the peer's requests act on here (the target, and the inbox when it is
// clear which message took which receive) and at what this side's own READs and atomics brought.
//
// Bytes whose content is not determined are not judged: see package expect. Of an unreliable transport only what the
// target declared is judged, and the guards. peers is the peer's Posted; ok is false, and nothing reported, when there
// are no bytes.
func (e *Endpoint) Verify(now vtime.Time, i int, peers []Work) (mismatch, guard int64, ok bool) {
	if e.out.now = max(e.out.now, now); e.turns.Taken() { // who takes turns looks at what comes
		return 0, 0, false
	}
	if mismatch, guard, ok = e.memory.verify(i, peers); ok {
		e.out.number(i, trace.Memory, "mismatch", mismatch)
		e.out.number(i, trace.Memory, "guard", guard)
	}
	return mismatch, guard, ok
}

// Posted returns connection i's requests in posting order, as the peer needs them for Verify. Of a load it gives those
// that no later one has overwritten.
func (e *Endpoint) Posted(i int) []Work { return e.memory.posted(i) }
