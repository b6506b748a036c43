package netns

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// actor is what a process of a run drives on real devices: the endpoint of a side, or the box. It has one device or
// several, which are numbered as in the setup.
type actor interface {
	Start(now vtime.Time)
	Deadline() vtime.Time
	Wake(now vtime.Time)
	Idle() bool
	Share() float64

	receive(now vtime.Time, device int, frame []byte)
	transmit(now vtime.Time, device int, f *roce.Frame) bool // the next frame for a line that is free
	ready(device int) bool                                   // transmit may have one
	emit(device int, frame []byte) []byte                    // the last word on the bytes of a frame

	stopped(a *farewell) // adds what it has to say when the run is over
	verify(now vtime.Time, i int, peers []drive.Work)
}

// process is the body of such a process: one locked thread that receives, lets the actor act, and sends what it has as fast
// as the lines allow.
type process struct {
	role  string
	in    *bufio.Reader
	out   *json.Encoder
	stdin int
	impl  engine.Implementation
	side  trace.Side
	spec  *scenario.Spec

	actor   actor
	tcp     *sockets // nil when the actor makes its packets itself
	devices []device
	clock   *packetio.Clock
	wait    *packetio.Waiter
	events  *eventFile

	late    vtime.Duration
	used    time.Duration // processor time when the run began
	told    vtime.Time    // when the share was last told
	idle    bool          // as last told
	stopped bool
}

// device is one port of the process with its line.
type device struct {
	*packetio.Port
	pace   pacer
	outbox outbox
}

// makeActor builds what the process drives, and tells the rates of its lines, by device. Path is the implementation at A,
// which says whether there is a box.
type makeActor func(p *process, s *contract.Order, own, path *engine.Implementation) (actor, []unit.Rate, error)

// runProcess is the body of a process that has been started in its namespace for the implementation of that name. find
// looks implementations up. It returns when standard input ends.
func runProcess(role string, stdin *os.File, stdout io.Writer, name string, find func(string) (engine.Implementation, bool), build makeActor) error {
	p := &process{role: role, in: bufio.NewReaderSize(stdin, 1<<20), out: json.NewEncoder(stdout), stdin: int(stdin.Fd())}
	var known bool
	if p.impl, known = find(name); !known {
		return fmt.Errorf("%s: implementation %q is not in this binary", role, name)
	}
	err := p.guarded(find, build)
	if errors.Is(err, io.EOF) {
		return nil // the bench is gone or done
	}
	if err != nil {
		_ = p.say(contract.Report{Event: contract.SaysError, Error: err.Error()}) // the reader may be gone, the caller gets it too
	}
	return err
}

// guarded turns a panic of the implementation into an error that names it; the run is then an ERROR of the harness.
func (p *process) guarded(find func(string) (engine.Implementation, bool), build makeActor) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s: panic: %v", p.role, v)
		}
	}()
	return p.main(find, build)
}

func (p *process) main(find func(string) (engine.Implementation, bool), build makeActor) (err error) {
	if err := p.say(contract.Report{Event: contract.SaysCapabilities, Capabilities: capabilities(&p.impl)}); err != nil {
		return err
	}
	s, err := p.introduced()
	if err != nil {
		return err
	}
	if err := packetio.LockThread(); err != nil {
		return err
	}
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))) // one for the loop, also when the relay has taken a processor
	began := time.Now()
	if err := p.build(s, find, build); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.events.file.Close()) }()
	// Where the processors are few, collecting garbage keeps the loop from one for longer than an endpoint may take to
	// react. A run makes little garbage; the limit is for one that goes on for hours.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(peakMemory() + spareMemory)
	ready := contract.Report{Event: contract.SaysReady, SetupTime: time.Since(began).Nanoseconds()}
	if p.tcp != nil {
		defer p.tcp.close()
		ready.TCP = p.tcp.String()
	}
	if err := p.say(ready); err != nil {
		return err
	}
	o, err := p.read()
	if err != nil {
		return err
	}
	return p.run(s, o.At)
}

// say writes one line.
func (p *process) say(r contract.Report) error { return p.out.Encode(r) }

// introduced reads all orders up to prepare and returns setup. An engine takes its QPs and its work from the text of the
// Spec, which says the same as their lines.
func (p *process) introduced() (*contract.Order, error) {
	var s *contract.Order
	for {
		o, err := p.read()
		if err != nil {
			return nil, err
		}
		switch {
		case o.Op == contract.OpSetup && o.Contract != contract.Version:
			return nil, fmt.Errorf("%s: contract version %d; this program speaks %d", p.role, o.Contract, contract.Version)
		case o.Op == contract.OpSetup:
			s = &o
		case o.Op == contract.OpParam && !p.knows(o.Name):
			return nil, fmt.Errorf("%s: parameter %.40q: %s has none of that name: %w", p.role, o.Name, p.impl.Name, contract.ErrUnsupported)
		case o.Op == contract.OpPrepare && s == nil:
			return nil, fmt.Errorf("%s: prepare before setup", p.role)
		case o.Op == contract.OpPrepare:
			return s, nil
		case o.Op != contract.OpParam && o.Op != contract.OpQP && o.Op != contract.OpWork:
			return nil, fmt.Errorf("%s: order %.40q is not known: %w", p.role, o.Op, contract.ErrUnsupported)
		}
	}
}

// knows reports whether the implementation has a parameter.
func (p *process) knows(name string) bool {
	return slices.ContainsFunc(p.impl.Params, func(known engine.Param) bool { return known.Name == name })
}

// spareMemory is how much garbage a process may leave before it collects it after all.
const spareMemory = 256 << 20

// build makes the actor from the setup.
func (p *process) build(s *contract.Order, find func(string) (engine.Implementation, bool), build makeActor) error {
	if s.Side == trace.B.String() {
		p.side = trace.B
	}
	var err error
	if p.spec, err = scenario.Parse(strings.NewReader(s.Spec)); err != nil {
		return fmt.Errorf("%s: spec line %w", p.role, err)
	}
	var impls [2]engine.Implementation
	for side, name := range p.spec.Impl {
		var ok bool
		if impls[side], ok = find(name); !ok && !p.spec.Devices[side].Present() && !scenario.Foreign(name) {
			return fmt.Errorf("%s: implementation %q is not in this binary", p.role, name)
		}
	}
	if scenario.Foreign(p.spec.Impl[p.side]) {
		impls[p.side] = p.impl // to a bench that was given a path or an image, this is a program as any other
	}
	h := header(p.spec)
	if impls[trace.A].NewBox != nil {
		h.Divide(func(q engine.QP) engine.QP { return q }) // the bench tells how the box acts
	}
	if p.events, err = newEventFile(p.role, s.Report, h); err != nil {
		return err
	}
	var lines []unit.Rate
	if p.actor, lines, err = build(p, s, &impls[p.side], &impls[trace.A]); err != nil {
		return err
	}
	if names := strings.Fields(s.Device); len(lines) != len(names) {
		return fmt.Errorf("%s: setup has %d devices; want %d", p.role, len(names), len(lines))
	}
	for i, rate := range lines {
		emit := func(frame []byte) []byte { return p.actor.emit(i, frame) }
		p.devices = append(p.devices, device{pace: newPacer(rate), outbox: outbox{emit: emit}})
	}
	return nil
}

// run serves the devices from the start of the run until the bench closes standard input.
func (p *process) run(s *contract.Order, start int64) (err error) {
	p.clock = packetio.NewClock(start)
	fds := []int{p.stdin}
	for i, name := range strings.Fields(s.Device) {
		d := &p.devices[i]
		if d.Port, err = packetio.Open(name, p.clock, p.interest()); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.Close()) }()
		fds = append(fds, d.Fd())
	}
	if p.tcp != nil {
		fds = append(fds, p.tcp.epoll)
	}
	p.wait = packetio.NewWaiter(p.clock, fds...)
	p.actor.Start(0) // ahead of time: thousands of receives take longer to post than an endpoint may take to react
	for p.clock.Now() < 0 {
		if err := p.wait.Wait(0); err != nil {
			return err
		}
	}
	if p.tcp != nil {
		// The loop shares its processor with the kernel's TCP and the peer: without a priority, it is as late as the host is busy.
		// An endpoint that makes its packets itself takes more of the processor than that, and the taps would starve.
		_ = packetio.Realtime(packetio.OfEnd)
	}
	p.used = processorTime()
	if p.tcp != nil {
		if err := p.tcp.connect(); err != nil {
			return err
		}
	}
	for {
		if err := p.turn(); err != nil {
			return err
		}
	}
}

// interest is what the ports receive: what is of the run. Of frames that the kernel's TCP takes, their times will do.
func (p *process) interest() packetio.Options {
	o := packetio.Options{RoCE: true}
	if p.tcp != nil {
		o.Snap = 64
	}
	return o
}

// turn is one round of the loop.
func (p *process) turn() error {
	for i := range p.devices {
		if err := p.receive(i); err != nil {
			return err
		}
	}
	now := p.clock.Now()
	if due := p.actor.Deadline(); due <= now && !p.stopped {
		p.late = max(p.late, now.Sub(due))
		p.actor.Wake(now)
	}
	if err := p.send(now); err != nil {
		return err
	}
	if err := p.tell(now); err != nil {
		return err
	}
	if err := p.wait.Wait(p.next()); err != nil {
		return err
	}
	if p.wait.Ready(0) {
		return p.obey()
	}
	return nil
}

// receive hands every frame that waits at a device to the actor, one batch at a time so that sending is not starved. What a
// frame causes is made before the next one is looked at, as in a NIC: a NAK that waited for the end of the batch would be
// withdrawn when the missing packet came later in the same batch.
//
// Where the kernel's TCP takes the frames, the port tells how long they waited until the loop could act on them. It acts on all of
// them at once, so all are looked at: those left for the next turn would seem to wait when the sockets have been served.
func (p *process) receive(i int) error {
	for {
		frames, err := p.devices[i].Receive()
		if err != nil || p.stopped {
			return err
		}
		now := p.clock.Now()
		for k := range frames {
			p.late = max(p.late, now.Sub(frames[k].Time))
			if p.tcp == nil {
				p.actor.receive(now, i, frames[k].Data)
				p.fill(now)
			}
		}
		switch {
		case p.tcp == nil:
			return nil
		case len(frames) == 0:
			return p.tcp.serve(p.clock)
		}
	}
}

// send fills the outboxes and hands them to the devices, or the sockets to the kernel.
func (p *process) send(now vtime.Time) error {
	if p.tcp != nil {
		if !p.stopped {
			p.tcp.end.Carry(now)
		}
		return nil
	}
	p.fill(now)
	for i := range p.devices {
		d := &p.devices[i]
		if !p.actor.ready(i) {
			d.pace.rest()
		}
		if err := d.outbox.flush(d.Port); err != nil {
			return err
		}
	}
	return nil
}

// fill puts into the outboxes what the actor has to send and the lines have room for.
func (p *process) fill(now vtime.Time) {
	var f roce.Frame
	for i := range p.devices {
		d := &p.devices[i]
		for !p.stopped && !d.outbox.full() && d.pace.ready(now) && p.actor.ready(i) {
			if !p.actor.transmit(now, i, &f) {
				break
			}
			d.outbox.add(&f)
			d.pace.spend(now, f.WireLen())
		}
	}
}

// next is when the loop has to turn again although nothing arrives.
func (p *process) next() vtime.Time {
	if p.stopped {
		return vtime.Never
	}
	at := min(p.actor.Deadline(), p.told.Add(tellEvery))
	for i := range p.devices {
		d := &p.devices[i]
		switch {
		case d.outbox.pending():
			at = min(at, p.clock.Now().Add(50*vtime.Microsecond)) // the device is full; it drains within microseconds
		case p.actor.ready(i):
			at = min(at, d.pace.free)
		}
	}
	return at
}

// tellEvery is how often the bench hears how far the work is.
const tellEvery = 100 * vtime.Millisecond

func (p *process) tell(now vtime.Time) error {
	if now.Sub(p.told) >= tellEvery && !p.stopped {
		p.told = now
		if err := p.say(contract.Report{Event: contract.SaysShare, Share: p.actor.Share()}); err != nil {
			return err
		}
	}
	if p.idle == p.actor.Idle() {
		return nil
	}
	p.idle = !p.idle
	if p.idle {
		return p.say(contract.Report{Event: contract.SaysIdle})
	}
	return p.say(contract.Report{Event: contract.SaysBusy})
}

// read takes one line of standard input.
func (p *process) read() (contract.Order, error) {
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		return contract.Order{}, err
	}
	return contract.DecodeOrder(line)
}

// obey carries out the orders that wait on standard input.
func (p *process) obey() error {
	for {
		o, err := p.read()
		if err != nil {
			return err
		}
		switch o.Op {
		case contract.OpStop:
			err = p.stop()
		case contract.OpVerify:
			err = p.verify(o.Memory)
		default:
			err = fmt.Errorf("%s: order %q; want stop or verify", p.role, o.Op)
		}
		if err != nil || p.in.Buffered() == 0 {
			return err
		}
	}
}

// farewell is what there is to say when the run is over: the line, and what the lines before it say.
type farewell struct {
	contract.Report
	counters map[string]int64
	shared   []engine.Var
	work     [][]drive.Work // what was posted, by connection
}

// stop ends the traffic and says what was done.
func (p *process) stop() error {
	p.stopped = true
	if p.tcp != nil {
		_ = packetio.Ordinary() // what is left to do is in nobody's way, and must not be in that of the taps
		if err := p.tcp.silence(); err != nil {
			return err
		}
	}
	a := farewell{Report: contract.Report{Event: contract.SaysStopped, Late: int64(p.late / vtime.Nanosecond), MaxMemory: peakMemory(),
		Processor: int64(processorTime() - p.used)}}
	for i := range p.devices {
		counts, err := p.devices[i].Counts()
		if err != nil {
			return err
		}
		a.Dropped += counts.Dropped
	}
	p.actor.stopped(&a)
	for _, name := range slices.Sorted(maps.Keys(a.counters)) {
		if err := p.say(contract.Report{Event: contract.SaysCounter, Variable: name, Value: a.counters[name]}); err != nil {
			return err
		}
	}
	for _, v := range a.shared {
		if err := p.say(contract.Report{Event: contract.SaysState, Variable: v.Name, Value: v.Value}); err != nil {
			return err
		}
	}
	var err error
	a.Memory, err = json.Marshal(a.work)
	return errors.Join(err, p.say(a.Report))
}

// peakMemory returns the most bytes of memory that the process has had, 0 when the kernel does not tell.
func peakMemory() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return int64(u.Maxrss) << 10
}

// processorTime returns what the threads of the process have used of the processors, 0 when the kernel does not tell.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// verify compares the memory with what the peer posted, in the words of its stopped, and ends the report. A peer that told
// nothing leaves nothing to compare with.
func (p *process) verify(memory json.RawMessage) error {
	var work [][]drive.Work
	if len(memory) > 0 {
		if err := json.Unmarshal(memory, &work); err != nil {
			return fmt.Errorf("%s: verify: %w", p.role, err)
		}
	}
	for i := range min(len(work), p.spec.QPs) {
		p.actor.verify(p.clock.Now(), i, work[i])
	}
	return errors.Join(p.events.end(p.clock.Now()), p.say(contract.Report{Event: contract.SaysVerified}))
}
