// Package drive implements an endpoint: all QPs of one host around their engines, with memory, a workload and one port.
//
// An Endpoint is as sans-IO as the engines in it. A bench hands it the frames or packets that arrive, wakes it at its
// deadline, and pulls packets from it when the line is free. The same code runs in virtual time and in a process behind
// a real interface, so the two benches differ in the clock and the link only.
//
// The cost of a packet does not depend on how many other QPs are idle. QPs with something to send form a ring and are
// served in turn, one packet each and an answer beside it; QPs with a retransmission that their scheme sends first form
// a ring of their own, which is served before the other. Deadlines form a heap that changes only when a deadline
// becomes earlier.
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

// Options are the settings of an endpoint that its bench chooses, and that are not part of a Spec.
type Options struct {
	Bytes    bool     // regions have bytes; otherwise packets have a length but no payload
	Observer Observer // nil discards reports
	Managed  bool     // connections are set up and torn down by messages of the communication manager
	Streams  bool     // the host's TCP carries the QPs, for an implementation that has NewStream: see Attach
}

// Endpoint is one host of a run, as its bench uses it. Each part has one task; engines passes the events of the engines
// to the parts that act on them.
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

// New builds the endpoint of one side. The error names the attribute or parameter that it rejects.
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

// addParts builds the parts of the endpoint around the QPs.
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

// addQPs builds the engines of all QPs, and the port for the packets of their implementation.
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

// Start posts the first receives and work requests. A connection that has to be set up gets its receives now and its
// work once it is established.
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

// ReceiveFrame decodes a frame and processes its packet; it ignores frames that do not belong to the transport.
func (e *Endpoint) ReceiveFrame(now vtime.Time, b []byte) { e.receiveFrame(now, b, nil) }

// ReceiveSummed is ReceiveFrame for a caller that knows the CRC-32 of the payload, so that the ICRC can be checked
// without reading the payload.
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

// Receive passes the packet to the QP to which it is addressed, if it passes the checks below the transport.
func (e *Endpoint) Receive(now vtime.Time, p *roce.Packet) { e.receive(now, p, false) }

// ReceiveMarked is Receive for a packet that the link has marked because of congestion.
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

// Transmit fills p with the next packet of the endpoint and returns its connection; ok is false when no QP has anything
// to send now.
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

// Attach sets the socket of connection i. It must be called before Start.
func (e *Endpoint) Attach(i int, s Socket) { e.engines.qps[i].tcp.socket = s }

// TCP returns the options that the stream of connection i needs of its socket.
func (e *Endpoint) TCP(i int) engine.TCPOptions { return e.engines.qps[i].tcp.stream.TCP() }

// Serve processes the progress of connection i's socket. Acknowledged data complete their requests before received data
// are processed.
func (e *Endpoint) Serve(now vtime.Time, i int) {
	e.out.now = now
	q := &e.engines.qps[i]
	q.tcp.serve(now)
	q.want[requester] = true
	e.engines.drain(i, requester)
}

// Carry writes the data of the streams to their sockets, one FPDU of each in turn, until there is no more or the
// sockets that could take it are full. When a socket has room again, Serve makes its stream ready to continue.
func (e *Endpoint) Carry(now vtime.Time) {
	e.out.now = now
	for i, _, any := e.engines.next(); any; i, _, any = e.engines.next() {
		q := &e.engines.qps[i]
		q.want[responder] = false
		q.want[requester] = q.tcp.carry()
		e.engines.drain(i, requester)
	}
}

// Ready reports whether Transmit may have a packet.
func (e *Endpoint) Ready() bool {
	return e.engines.any() || e.port.ip.Pending() || e.connect.Pending()
}

// Deadline returns the time at which Wake must be called next.
func (e *Endpoint) Deadline() vtime.Time { return min(e.engines.timers.first(), e.planned()) }

// planned returns the time of the next scripted post or repeated message of the connection set-up, whichever is first.
func (e *Endpoint) planned() vtime.Time { return min(e.script.next(), e.connect.Deadline()) }

// Settle corrects the earliest deadline and reports whether it was correct. A deadline that becomes later keeps its
// place until then, and a clock that jumps from deadline to deadline would stop there for nothing.
func (e *Endpoint) Settle() bool { return e.engines.settle(e.planned()) }

// Wake processes everything that is due at now.
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

// Shared returns the variables of the state that the QPs share, none when they share nothing.
func (e *Endpoint) Shared() []engine.Var {
	if in, ok := e.host.(engine.Inspector); ok {
		return in.Vars(nil)
	}
	return nil
}

// Counters returns how many packets each check dropped, by its name, without those that are zero.
func (e *Endpoint) Counters() map[string]int64 { return e.checks.counters() }

// Share returns the fraction of the counted work that is done, 0 to 1; 1 when there is no counted work.
func (e *Endpoint) Share() float64 { return e.engines.share() }

// Shortfall describes the counted work that will never be done; "" when there is none. It is valid once nothing more
// will happen.
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

// Emit returns the bytes to be sent for an encoded frame, which may be in other memory. They are the frame itself
// unless the implementation changes whole frames: see Alters.
func (e *Endpoint) Emit(frame []byte) []byte { return e.port.emit(frame) }

// Alters reports whether Emit may change a frame.
func (e *Endpoint) Alters() bool { return e.port.frames.Out != nil }

// ConnOf returns the connection of a packet that arrives with these ports, identified by the peer's port or this end's.
func (e *Endpoint) ConnOf(src, dst uint16) (conn int, ok bool) { return e.checks.connOf(src, dst) }

// Verify compares the memory of connection i with the expected effect of the requests, and reports the result as Memory
// events: "mismatch" counts wrong bytes inside ranges that requests wrote, "guard" bytes that no request named and that
// changed nevertheless. It covers the memory on which the peer's requests act (the target, and the inbox when it is
// known which message took which receive) and the memory into which this side's own READs and atomics fetch.
//
// Bytes whose content is not determined are not compared: see package expect. For an unreliable transport only the
// bytes that the target declared are compared, and the guards. peers is the peer's Posted; ok is false, and nothing is
// reported, when regions have no bytes or applications take turns.
func (e *Endpoint) Verify(now vtime.Time, i int, peers []Work) (mismatch, guard int64, ok bool) {
	// Applications that take turns check the bytes that arrive themselves.
	if e.out.now = max(e.out.now, now); e.turns.Taken() {
		return 0, 0, false
	}
	if mismatch, guard, ok = e.memory.verify(i, peers); ok {
		e.out.number(i, trace.Memory, "mismatch", mismatch)
		e.out.number(i, trace.Memory, "guard", guard)
	}
	return mismatch, guard, ok
}

// Posted returns connection i's requests in posting order, as the peer needs them for Verify. Requests of a load whose
// bytes later ones have overwritten are left out.
func (e *Endpoint) Posted(i int) []Work { return e.memory.posted(i) }
