// Package sim runs a Spec in virtual time: two endpoints and one link in a single goroutine. Runs are identical to the
// bit.
//
// The world has at most a handful of possible next actions: a packet arrives at either side, an endpoint's timer is
// due, a line is free and its endpoint has something to send, a crafted packet is injected. Time jumps to the earliest;
// ties are decided by the order of that list, A before B, so that an effect never precedes its cause.
//
// With bytes, every packet is encoded with its ICRC, crosses the link as a frame, and is checked and decoded on
// arrival. Without bytes, packets cross the link as structures that have lengths only; large runs choose this, and the
// trace says so.
package sim

import (
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/wire"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// ErrLimit is the error of a run that did not end within Spec.Limit of virtual time, or within its step budget.
var ErrLimit = errors.New("limit reached before the work was done")

// Options are the settings of a run that are not part of a Spec.
type Options struct {
	// encode and decode every packet; else they have lengths, and payload only for schemes that compute with it
	Bytes bool
	Sink  trace.Sink
	// Steps bounds the events of the run; 0 is a bound that no reasonable run reaches.
	Steps uint64
	// Progress, if not nil, is called from time to time with the virtual time. Its error ends the run.
	Progress func(now vtime.Time) error
}

const defaultSteps = 20_000_000_000

// World is a run in progress.
type World struct {
	spec       *scenario.Spec
	opts       Options
	payload    bool // packets have payload, encoded or not
	now        vtime.Time
	steps      uint64
	end        [2]*drive.Endpoint
	port       [2]port
	classify   *wire.Classifier
	scripted   bool // faults or tapes address packets, so identities are needed
	injections []crafted
	out        outbox
	into       [2]*port // by side: the port from which its endpoint receives
	box        *boxNode // in the path; nil when the path is the link alone
}

// New builds the world of a Spec with the implementations of its two sides.
func New(s *scenario.Spec, impls [2]engine.Implementation, opts Options) (*World, error) {
	w := &World{spec: s, opts: opts, classify: wire.NewClassifier(s), scripted: len(s.Faults) > 0}
	for _, l := range []spec.Link{s.Link.AB, s.Link.BA} {
		w.scripted = w.scripted || l.Loss.Model == spec.Tape
	}
	// The headers of such packets are part of their bytes.
	w.opts.Bytes = w.opts.Bytes || impls[0].OverIP() || impls[1].OverIP()
	w.payload = w.opts.Bytes || impls[0].NeedsBytes || impls[1].NeedsBytes
	if w.opts.Steps == 0 {
		w.opts.Steps = defaultSteps
	}
	w.out.sink = opts.Sink
	faults, err := fault.NewSet(s.Faults)
	if err != nil {
		return nil, err
	}
	managed := s.CM.Managed(impls[trace.A].NewBox != nil)
	for side := range w.end {
		link := s.Link.AB
		if trace.Side(side) == trace.B {
			link = s.Link.BA
		}
		ch, err := channel.New(link, faults, s.Seeds()[side])
		if err != nil {
			return nil, err
		}
		var like roce.Packet
		if impls[side].OverIP() {
			like.Opcode = roce.UDP
		}
		w.port[side].init(trace.Side(side), ch, &like)
		if w.end[side], err = drive.New(s, trace.Side(side), impls[side],
			drive.Options{Bytes: w.payload, Observer: w, Managed: managed}); err != nil {
			return nil, err
		}
		w.port[side].frame.TOS = w.end[side].TOS()
	}
	w.into = [2]*port{&w.port[trace.B], &w.port[trace.A]}
	if impls[trace.A].NewBox != nil {
		if err := w.insert(&impls[trace.A]); err != nil {
			return nil, err
		}
	}
	w.injections, err = craftAll(s)
	return w, err
}

// Header describes the trace that Run produces.
func (w *World) Header() trace.Header {
	h := trace.Header{Version: trace.FormatVersion, Bench: "sim", Taps: [2]bool{true, true}, Bytes: w.opts.Bytes,
		Reports: trace.ReportCQE | trace.ReportMemory}
	if w.spec.Reads.Detail {
		h.Reports |= trace.ReportStores | trace.ReportTimers | trace.ReportProbes
	}
	for i := range w.spec.QPs {
		var c trace.Conn
		for side, q := range w.spec.Ends(i) {
			c.Ends[side] = trace.End{Addr: drive.Addr(trace.Side(side)), Port: drive.SourcePort(i),
				Impl: w.spec.Impl[side], QP: q, Known: true}
		}
		h.Conns = append(h.Conns, c)
	}
	if w.box != nil {
		h.Divide(w.box.Acts)
	}
	return h
}

// Spec returns the Spec from which the world was built.
func (w *World) Spec() *scenario.Spec { return w.spec }

// Now returns the virtual time.
func (w *World) Now() vtime.Time { return w.now }

// Endpoint returns one side, for its variables and counters.
func (w *World) Endpoint(side trace.Side) *drive.Endpoint { return w.end[side] }

// Channel returns the link that side sends into, for its counters.
func (w *World) Channel(side trace.Side) *channel.Channel { return w.port[side].channel }

// Event implements drive.Observer.
func (w *World) Event(e *trace.Event) {
	if w.box == nil || e.Side == trace.A {
		w.out.Event(e)
		return
	}
	e.Conn += w.spec.QPs // B is at the end of the second hop
	w.out.Event(e)
	e.Conn -= w.spec.QPs
}

// Run runs the world until nothing can happen any more, Spec.For is over, or a limit is reached; the last returns
// ErrLimit in a bench.Fault, and the trace up to then has been delivered.
func (w *World) Run() error {
	for side := range w.end {
		w.end[side].Start(0)
	}
	atRest, err := w.loop()
	w.verify()
	for side := range w.end {
		if w.end[side].Idle() {
			w.Event(&trace.Event{At: w.now, Side: trace.Side(side), Kind: trace.Idle})
		}
	}
	w.out.end(w.watched(atRest))
	return err
}

// watched returns the time at which observation stops. A world at rest stays at rest; it is observed for one more
// transport timer and round trip, in which a packet without reason would be sent; with work left, for as many timers as
// show that no requester will retransmit.
func (w *World) watched(atRest bool) vtime.Time {
	if !atRest {
		return w.now
	}
	w.now = max(w.now, w.out.latest())
	timer := max(w.spec.QP[trace.A].TransportTimer(), w.spec.QP[trace.B].TransportTimer())
	if !w.end[trace.A].Idle() || !w.end[trace.B].Idle() {
		timer *= stillness
	}
	return w.now.Add(timer + w.spec.RTT())
}

// stillness is the number of timers for which a world at rest with work left is observed. No requester waits longer.
const stillness = 16

// loop runs until nothing can happen any more (the world is at rest), or the run is cut.
func (w *World) loop() (atRest bool, err error) {
	until := vtime.Time(w.spec.Limit)
	if w.spec.For > 0 {
		until = min(until, vtime.Time(w.spec.For))
	}
	for {
		at, act := w.next()
		switch {
		case at == vtime.Never:
			return true, nil
		case at > until:
			w.now = until
			if w.spec.For > 0 && until == vtime.Time(w.spec.For) {
				return false, nil
			}
			return false, w.overdue(fmt.Sprintf("%s of virtual time", w.spec.Limit))
		case w.steps == w.opts.Steps:
			return false, w.overdue(fmt.Sprintf("%d events", w.steps))
		}
		w.steps++
		w.now = max(w.now, at)
		w.out.flush(w.now)
		if w.opts.Progress != nil && w.steps%progressEvery == 0 {
			if err := w.opts.Progress(w.now); err != nil {
				return false, err
			}
		}
		w.act(act)
	}
}

// overdue returns the fault of the engine that does not finish: A, unless only B has work left.
func (w *World) overdue(after string) error {
	side, text := trace.A, "all work done, and no rest"
	for s := range w.end {
		if !w.end[s].Idle() {
			side, text = trace.Side(s), fmt.Sprintf("%.0f %% of its work done", 100*w.end[s].Share())
			break
		}
	}
	err := fmt.Errorf("sim: %w (%s): %s at %s: %s", ErrLimit, after, w.spec.Impl[side], side, text)
	return &bench.Fault{Side: side, Program: w.spec.Impl[side], Err: err}
}

// progressEvery is the number of events between two calls of Progress: some hundred calls per second.
const progressEvery = 1 << 14

// action is one of the possible next actions; ties are decided by this order.
type action uint8

const (
	arriveA action = iota // a packet reaches A
	arriveB
	inject
	wakeA
	wakeB
	sendA // A's line is free and A may have a packet
	sendB
	arriveLAN // a packet reaches the box from A
	arriveWAN // or from B
	wakeBox
	sendLAN // a line of the box is free
	sendWAN
)

// next returns the earliest possible action. A deadline may turn out to have moved to a later time.
func (w *World) next() (vtime.Time, action) {
	for {
		at, act := w.candidate()
		if act != wakeA && act != wakeB || w.end[act-wakeA].Settle() {
			return at, act
		}
	}
}

// candidate returns the earliest of the possible actions, the first of them at equal times.
func (w *World) candidate() (vtime.Time, action) {
	at, act := w.into[trace.A].arrival(), arriveA
	sooner := func(t vtime.Time, a action) {
		if t < at {
			at, act = t, a
		}
	}
	sooner(w.into[trace.B].arrival(), arriveB)
	if len(w.injections) > 0 {
		sooner(w.injections[0].at, inject)
	}
	for side := range w.end {
		sooner(w.end[side].Deadline(), wakeA+action(side))
	}
	for side := range w.end {
		if w.end[side].Ready() {
			sooner(max(w.now, w.port[side].channel.Free()), sendA+action(side))
		}
	}
	if w.box != nil {
		w.boxCandidates(sooner)
	}
	return at, act
}

// act does it.
func (w *World) act(a action) {
	switch a {
	case arriveA, arriveB:
		w.arrive(trace.Side(a - arriveA))
	case inject:
		w.inject()
	case wakeA, wakeB:
		w.end[a-wakeA].Wake(w.now)
	case sendA, sendB:
		w.send(trace.Side(a - sendA))
	default:
		w.actBox(a)
	}
}

// send takes one packet from an endpoint whose line is free and puts it on the link.
func (w *World) send(side trace.Side) {
	p := &w.port[side]
	f := p.take()
	packet := &f.packet
	if w.opts.Bytes {
		packet = &p.frame.Packet
	}
	conn, ok := w.end[side].Transmit(w.now, packet)
	if !ok {
		p.giveBack(f)
		return
	}
	f.conn = conn
	if w.opts.Bytes {
		f.wireBytes = p.encode(f, w.end[side])
	} else {
		f.wireBytes = packet.WireLen(false)
		f.keep()
	}
	w.offer(p, f, packet, w.end[side].Alters())
}

// offer puts a packet on the link. altered means that the frame differs from packet.
func (w *World) offer(p *port, f *flight, packet *roce.Packet, altered bool) {
	var id fault.Identity
	if w.scripted {
		id = w.classify.Packet(p.side, packet)
	}
	v := p.channel.Offer(w.now, f.wireBytes, p.name, id)
	if w.opts.Bytes && !v.Intact() {
		f.alter(&v)
	}
	p.launch(f, &v)
	if w.out.sink != nil {
		w.record(p, f, packet, &v, altered)
	}
	if len(p.held) > 0 {
		w.releases(p)
	}
}

// behind is the time from a released packet's last successor to the packet, so that the times in the trace show their
// order.
const behind vtime.Duration = 1

// releases launches the packets that a reorder fault no longer holds.
func (w *World) releases(p *port) {
	for {
		r, ok := p.channel.Release(w.now)
		if !ok {
			return
		}
		r.Arrive = r.Arrive.Add(behind)
		if f := p.release(r); f != nil {
			w.out.resolve(p, f)
		}
	}
}

// arrive passes the packet that arrives at side to its endpoint.
func (w *World) arrive(side trace.Side) {
	p := w.into[side]
	if len(p.held) > 0 && p.channel.NextRelease() <= w.now {
		w.releases(p)
		return
	}
	f := p.land()
	switch {
	case f.summed && !f.altered():
		w.end[side].ReceiveSummed(w.now, f.raw, f.sum)
	case w.opts.Bytes:
		w.end[side].ReceiveFrame(w.now, f.raw)
	case f.marked:
		w.end[side].ReceiveMarked(w.now, &f.packet)
	default:
		w.end[side].Receive(w.now, &f.packet)
	}
	p.giveBack(f)
}

// verify compares both memories at the end.
func (w *World) verify() {
	if !w.payload {
		return
	}
	for side := range w.end {
		for i := range w.spec.QPs {
			w.end[side].Verify(w.now, i, w.posted(trace.Side(1-side), i))
		}
	}
}

// record emits the trace record of a packet that has just been put on the link at p, and those of its copies. It sets
// the fields one by one: the record is recycled, and a literal would be built elsewhere and copied.
func (w *World) record(p *port, f *flight, packet *roce.Packet, v *channel.Verdict, altered bool) {
	r := w.out.blank()
	r.Sent, r.Recv, r.From, r.Conn, r.Copy = v.Sent, v.Arrive, p.side, f.conn+p.shift, false
	r.Packet = *packet
	r.WireBytes, r.Cause = f.wireBytes, p.cause(v)
	r.Fate = trace.Delivered
	switch {
	case v.Fate == channel.Lost:
		r.Fate = trace.Dropped
	case v.Corrupt != "":
		r.Fate = trace.Corrupted
	}
	r.Raw, r.ICRC, r.Sum, r.Defect, r.Changed = nil, trace.Unchecked, 0, "", nil
	if w.opts.Bytes {
		recordBytes(r, f, v, altered)
	} else {
		r.Packet.Payload = nil // a trace without frames has lengths alone
	}
	w.out.record(r, f.ticket)
	if v.Copies > 0 && v.Fate == channel.Delivered { // after it, or they would precede it where nothing takes any time
		w.out.copies(r, v.Copies, v.Gap)
	}
}

// recordBytes adds the frame as captured by the two taps. The packet is that of the frame: an endpoint may leave the
// padding to the encoder, or ask for a wrong one.
func recordBytes(r *trace.Record, f *flight, v *channel.Verdict, altered bool) {
	r.Raw, r.ICRC, r.Sum = f.sent(), trace.Good, f.sum
	irregular := int(r.Packet.Pad) != -r.Packet.Len&3
	if altered || irregular || r.Packet.Opcode.OverIP() { // those over IP have payload in a buffer of the engine
		c := received(r.Raw)
		r.Packet, r.Sum, r.ICRC, r.Defect = c.Packet, c.Sum, c.ICRC, c.Defect
	} else if n := len(r.Packet.Payload); n > 0 {
		if !f.summed {
			r.Sum = crc32.ChecksumIEEE(r.Packet.Payload)
		}
		const icrc = 4
		end := len(r.Raw) - icrc - -n&3             // end of the payload, which is padded to whole words
		r.Packet.Payload = r.Raw[end-n : end : end] // so that a reader that keeps the record keeps the bytes once
	}
	if f.altered() && v.Fate != channel.Lost {
		r.Changed = received(f.raw)
	}
}

// received decodes a frame as the receiver's tap sees it.
func received(raw []byte) *trace.Change {
	var f roce.Frame
	c := &trace.Change{Raw: raw}
	if err := f.DecodeAny(raw); err != nil {
		c.Defect = err.Error()
	}
	c.Packet, c.Sum, c.ICRC = f.Packet, crc32.ChecksumIEEE(f.Packet.Payload), integrity(&f, raw)
	return c
}

// integrity checks the ICRC of a frame that has one.
func integrity(f *roce.Frame, raw []byte) trace.Integrity {
	switch {
	case f.Packet.Opcode == roce.UDP:
		return trace.Unchecked // the CRC of iWARP is after its own headers
	case f.Packet.Opcode == roce.TCP && roce.TCPChecksumOK(raw), roce.CheckICRC(raw):
		return trace.Good
	}
	return trace.Bad
}
