package process

import (
	"errors"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// device is one port of the process with its line.
type device struct {
	*packetio.Port
	pace   pacer
	outbox outbox
}

// open opens the devices, with a clock that has not been set to the start of the run.
func (p *process) open(s *contract.Order) (err error) {
	p.clock = packetio.Timebase{Start: packetio.Monotonic(), Dilation: s.Dilate}.Clock()
	for i, name := range strings.Fields(s.Device) {
		if p.devices[i].Port, err = packetio.Open(name, p.clock, p.interest()); err != nil {
			return err
		}
	}
	return nil
}

// close closes the devices that are open.
func (p *process) close() (err error) {
	for i := range p.devices {
		if port := p.devices[i].Port; port != nil {
			err = errors.Join(err, port.Close())
		}
	}
	return err
}

// run serves the devices from the start of the run until the bench closes standard input.
func (p *process) run(start int64) error {
	*p.clock = *packetio.Timebase{Start: start, Dilation: p.clock.Dilation}.Clock()
	fds := []int{p.stdin}
	for i := range p.devices {
		fds = append(fds, p.devices[i].Fd())
	}
	if p.tcp != nil {
		fds = append(fds, p.tcp.epoll)
	}
	p.wait = packetio.NewWaiter(p.clock, fds...)
	p.actor.Start(0) // before the run: posting thousands of receives takes longer than an endpoint may take to react
	for p.clock.Now() < 0 {
		if err := p.wait.Wait(0); err != nil {
			return err
		}
	}
	if p.tcp != nil {
		// The loop shares its processor with the kernel's TCP and the peer: without a priority, the load of the host
		// delays it. An endpoint that makes its packets itself uses so much processor time that the taps would starve.
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

// interest returns the options by which the ports receive the frames of the run. Of frames that the kernel's TCP
// processes, only the times are needed.
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
	cause := now
	if due := p.actor.Deadline(); due <= now && !p.stopped {
		p.late = max(p.late, now.Sub(due))
		cause = due
		p.actor.Wake(now)
	}
	if err := p.send(now, cause); err != nil {
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

// receive passes every frame that waits at a device to the actor, one batch at a time so that sending is not starved.
// The answer to a frame is made before the next frame is processed, as in a NIC: a NAK that waited for the end of the
// batch would be withdrawn if the missing packet followed in the same batch.
//
// Where the kernel's TCP processes the frames, the port shows how long they waited until the loop could act on them.
// The loop acts on all of them at once, so all are read: frames left for the next turn would appear to wait although
// the sockets have been served.
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
				p.fill(now, frames[k].Time)
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

// send fills the outboxes and passes them to the devices, or writes the streams to the sockets.
func (p *process) send(now, cause vtime.Time) error {
	if p.tcp != nil {
		if !p.stopped {
			p.tcp.end.Carry(now)
		}
		return nil
	}
	p.fill(now, cause)
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

// fill encodes the actor's packets into the outboxes, as far as the lines have room; cause is the time of the event
// that caused the packets.
func (p *process) fill(now, cause vtime.Time) {
	var f roce.Frame
	for i := range p.devices {
		d := &p.devices[i]
		for !p.stopped && !d.outbox.full() && d.pace.ready(now) && p.actor.ready(i) {
			if !p.actor.transmit(now, i, &f) {
				d.pace.rest()
				break
			}
			d.outbox.add(&f)
			d.pace.spend(now, cause, f.WireLen())
		}
	}
}

// next returns the time of the next turn if nothing arrives.
func (p *process) next() vtime.Time {
	if p.stopped {
		return vtime.Never
	}
	at := min(p.actor.Deadline(), p.told.Add(p.clock.Dilation.Spec(tellEvery)))
	for i := range p.devices {
		d := &p.devices[i]
		switch {
		case d.outbox.pending():
			at = min(at, p.clock.Now().Add(p.clock.Dilation.Spec(drains)))
		case p.actor.ready(i):
			at = min(at, d.pace.free)
		}
	}
	return at
}

// These are times of the machine.
const (
	tellEvery = 100 * vtime.Millisecond // interval at which the progress is reported to the bench
	drains    = 50 * vtime.Microsecond  // interval at which a full device is tried again
)

func (p *process) tell(now vtime.Time) error {
	if now.Sub(p.told) >= p.clock.Dilation.Spec(tellEvery) && !p.stopped {
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
