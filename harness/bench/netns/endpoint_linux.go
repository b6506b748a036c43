package netns

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// EndpointMain is the body of an endpoint process, which has been started in its namespace: it drives one side of a Spec
// on a real device. find looks implementations up by name.
func EndpointMain(stdin *os.File, stdout io.Writer, find func(string) (engine.Implementation, bool)) error {
	p := &process{in: bufio.NewReaderSize(stdin, 1<<20), out: json.NewEncoder(stdout), stdin: int(stdin.Fd())}
	err := p.guarded(find)
	if errors.Is(err, io.EOF) {
		return nil // the bench is gone or done
	}
	if err != nil {
		_ = p.out.Encode(answer{Event: saysError, Error: err.Error()}) // the reader may be gone, the caller gets it too
	}
	return err
}

// process is an endpoint on a real device: one locked thread that receives, lets the endpoint act, and sends what it has
// as fast as the line allows.
type process struct {
	in    *bufio.Reader
	out   *json.Encoder
	stdin int
	side  trace.Side
	spec  *scenario.Spec

	end    *drive.Endpoint
	port   *packetio.Port
	clock  *packetio.Clock
	wait   *packetio.Waiter
	events *eventFile
	pace   pacer
	outbox outbox

	late    vtime.Duration
	told    vtime.Time // when the share was last told
	idle    bool
	stopped bool
}

// guarded turns a panic of the implementation into an error that names it; the run is then an ERROR of the harness.
func (p *process) guarded(find func(string) (engine.Implementation, bool)) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("endpoint: panic: %v", v)
		}
	}()
	return p.main(find)
}

func (p *process) main(find func(string) (engine.Implementation, bool)) (err error) {
	var s setup
	if err := p.read(&s); err != nil {
		return err
	}
	if s.Version != protocolVersion {
		return fmt.Errorf("endpoint: protocol version %d; this binary speaks %d", s.Version, protocolVersion)
	}
	if err := packetio.LockThread(); err != nil {
		return err
	}
	hurry()
	mute, err := packetio.Mute(roce.Port)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mute.Close()) }()
	if err := p.build(&s, find); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.events.file.Close()) }()
	if err := p.out.Encode(answer{Event: saysReady}); err != nil {
		return err
	}
	var o order
	if err := p.read(&o); err != nil {
		return err
	}
	return p.run(&s, o.Start)
}

// hurry asks for a larger share of the processors than programs beside the run have; without the privilege it stays as
// it is, and the certificate tells whether that was enough.
func hurry() { _ = unix.Setpriority(unix.PRIO_PROCESS, 0, -15) }

// build makes the endpoint from the setup.
func (p *process) build(s *setup, find func(string) (engine.Implementation, bool)) error {
	p.side = trace.Side(s.Side & 1)
	var err error
	if p.spec, err = scenario.Parse(strings.NewReader(s.Spec)); err != nil {
		return fmt.Errorf("endpoint: spec line %w", err)
	}
	impl, ok := find(p.spec.Impl[p.side])
	if !ok {
		return fmt.Errorf("endpoint: implementation %q is not in this binary", p.spec.Impl[p.side])
	}
	if p.events, err = newEventFile(s.Events, header(p.spec)); err != nil {
		return err
	}
	link := p.spec.Link.AB
	if p.side == trace.B {
		link = p.spec.Link.BA
	}
	p.pace = newPacer(link.Rate)
	p.end, err = drive.New(p.spec, p.side, impl, drive.Options{Bytes: true, Observer: p.events})
	return err
}

// run serves the device from the start of the run until the bench closes standard input.
func (p *process) run(s *setup, start int64) (err error) {
	p.clock = packetio.NewClock(start)
	if p.port, err = packetio.Open(s.Device, p.clock, packetio.Options{RoCE: true}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.port.Close()) }()
	p.wait = packetio.NewWaiter(p.clock, p.port.Fd(), p.stdin)
	for p.clock.Now() < 0 {
		if err := p.wait.Wait(0); err != nil {
			return err
		}
	}
	p.end.Start(p.clock.Now())
	for {
		if err := p.turn(); err != nil {
			return err
		}
	}
}

// turn is one round of the loop.
func (p *process) turn() error {
	if err := p.receive(); err != nil {
		return err
	}
	now := p.clock.Now()
	if due := p.end.Deadline(); due <= now && !p.stopped {
		p.late = max(p.late, now.Sub(due))
		p.end.Wake(now)
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
	if p.wait.Ready(1) {
		return p.obey()
	}
	return nil
}

// receive hands every frame that waits to the endpoint, one batch at a time so that sending is not starved. What a frame
// causes is made before the next one is looked at, as in a NIC: a NAK that waited for the end of the batch would be
// withdrawn when the missing packet came later in the same batch.
func (p *process) receive() error {
	frames, err := p.port.Receive()
	if err != nil || p.stopped {
		return err
	}
	now := p.clock.Now()
	for i := range frames {
		p.late = max(p.late, now.Sub(frames[i].Time))
		p.end.ReceiveFrame(now, frames[i].Data)
		p.fill(now)
	}
	return nil
}

// send fills the outbox and hands it to the device.
func (p *process) send(now vtime.Time) error {
	p.fill(now)
	if !p.end.Ready() {
		p.pace.rest()
	}
	return p.outbox.flush(p.port)
}

// fill puts into the outbox what the endpoint has to send and the line has room for.
func (p *process) fill(now vtime.Time) {
	var f roce.Frame
	var packet roce.Packet
	for !p.stopped && !p.outbox.full() && p.pace.ready(now) && p.end.Ready() {
		conn, ok := p.end.Transmit(now, &packet)
		if !ok {
			break
		}
		drive.Frame(&f, p.side, conn, &packet)
		p.outbox.add(&f, p.end)
		p.pace.spend(now, f.WireLen())
	}
}

// next is when the loop has to turn again although nothing arrives.
func (p *process) next() vtime.Time {
	if p.stopped {
		return vtime.Never
	}
	at := min(p.end.Deadline(), p.told.Add(tellEvery))
	switch {
	case p.outbox.pending():
		at = min(at, p.clock.Now().Add(50*vtime.Microsecond)) // the device is full; it drains within microseconds
	case p.end.Ready():
		at = min(at, p.pace.free)
	}
	return at
}

// tellEvery is how often the bench hears how far the work is.
const tellEvery = 100 * vtime.Millisecond

func (p *process) tell(now vtime.Time) error {
	if now.Sub(p.told) >= tellEvery && !p.stopped {
		p.told = now
		if err := p.out.Encode(answer{Event: saysShare, Share: p.end.Share()}); err != nil {
			return err
		}
	}
	if !p.idle && p.end.Idle() {
		p.idle = true
		return p.out.Encode(answer{Event: saysIdle})
	}
	return nil
}

// read takes one line of standard input.
func (p *process) read(v any) error {
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("endpoint: order %.40q: %w", line, err)
	}
	return nil
}

// obey carries out the orders that wait on standard input.
func (p *process) obey() error {
	for {
		var o order
		if err := p.read(&o); err != nil {
			return err
		}
		var err error
		switch o.Op {
		case opStop:
			err = p.stop()
		case opVerify:
			err = p.verify(o.Work)
		default:
			err = fmt.Errorf("endpoint: order %q; want stop or verify", o.Op)
		}
		if err != nil || p.in.Buffered() == 0 {
			return err
		}
	}
}

// stop ends the traffic and says what was posted.
func (p *process) stop() error {
	p.stopped = true
	counts, err := p.port.Counts()
	if err != nil {
		return err
	}
	a := answer{Event: saysStopped, Pending: p.end.Pending(), Counters: p.end.Counters(), Late: p.late, Dropped: counts.Dropped}
	for i := range p.spec.QPs {
		a.Work = append(a.Work, p.end.Posted(i))
	}
	return p.out.Encode(a)
}

func (p *process) verify(work [][]drive.Work) error {
	for i := range min(len(work), p.spec.QPs) {
		p.end.Verify(p.clock.Now(), i, work[i])
	}
	return errors.Join(p.events.end(p.clock.Now()), p.out.Encode(answer{Event: saysVerified}))
}
