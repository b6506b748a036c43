package process

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// process is the body of a process of a run: one locked thread that receives, calls the actor, and sends its packets as
// fast as the lines allow.
type process struct {
	role  string // plan.RoleEndpoint or plan.RoleBox
	in    *bufio.Reader
	out   *json.Encoder
	stdin int // descriptor of in, which the loop waits for as well
	impl  engine.Implementation
	side  trace.Side
	spec  *scenario.Spec

	actor   actor
	tcp     *sockets // nil when the actor makes its packets itself
	devices []device // numbered as in the setup
	clock   *packetio.Clock
	wait    *packetio.Waiter
	events  *eventFile // reports of the actor

	late    vtime.Duration // longest delay of a frame or a timer
	used    time.Duration  // processor time when the run began
	told    vtime.Time     // time of the last progress report to the bench
	idle    bool           // as the bench last heard
	stopped bool           // the run is over: frames and timers are left alone
}

// makeActor builds the actor of the process, and returns the rates of its lines, by device. Path is the implementation
// at A, which determines whether there is a middlebox.
type makeActor func(p *process, s *contract.Order, own, path *engine.Implementation) (actor, []unit.Rate, error)

// runProcess is the body of a process that has been started in its namespace for the implementation of that name. find
// looks implementations up. It returns when standard input ends.
func runProcess(role string, stdin *os.File, stdout io.Writer, name string,
	find func(string) (engine.Implementation, bool), build makeActor) error {
	p := &process{role: role, in: bufio.NewReaderSize(stdin, 1<<20), out: json.NewEncoder(stdout),
		stdin: int(stdin.Fd())}
	var known bool
	if p.impl, known = find(name); !known {
		return fmt.Errorf("%s: implementation %q is not in this binary", role, name)
	}
	err := p.guarded(find, build)
	if errors.Is(err, io.EOF) {
		return nil // the bench is gone or done
	}
	if err != nil {
		// the reader may be gone, the caller gets it too
		_ = p.say(contract.Report{Event: contract.SaysError, Error: err.Error()})
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

// main runs the protocol with the bench, from capabilities to the end of its input.
func (p *process) main(find func(string) (engine.Implementation, bool), build makeActor) (err error) {
	if err := p.say(
		contract.Report{Event: contract.SaysCapabilities, Capabilities: capabilities(&p.impl)}); err != nil {
		return err
	}
	s, err := p.introduced()
	if err != nil {
		return err
	}
	if err := packetio.LockThread(); err != nil {
		return err
	}
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))) // one for the loop, even if the relay has reserved a processor
	began := time.Now()
	if err := p.build(s, find, build); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.events.file.Close()) }()
	// With few processors, garbage collection keeps the loop from running for longer than an endpoint may take to
	// react. A run produces little garbage; the limit is for runs of hours.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(peakMemory() + spareMemory)
	ready := contract.Report{Event: contract.SaysReady, SetupTime: time.Since(began).Nanoseconds()}
	if p.tcp != nil {
		defer p.tcp.close()
		ready.TCP = p.tcp.String()
	}
	// Open before ready: the peer's first packets may be there before this process has read the order to start.
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.open(s); err != nil {
		return err
	}
	if err := p.say(ready); err != nil {
		return err
	}
	o, err := p.read()
	if err != nil {
		return err
	}
	return p.run(o.At)
}

// spareMemory is the amount of garbage above which a process collects it after all.
const spareMemory = 256 << 20

// build builds the actor from the setup.
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
	h := plan.Header(p.spec)
	if impls[trace.A].NewBox != nil {
		h.Divide(func(q engine.QP) engine.QP { return q }) // the bench knows the attributes of the box
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
