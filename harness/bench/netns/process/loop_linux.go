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

// run serves the devices from the start of the run until the bench closes standard input.
func (p *process) run(s *contract.Order, start int64) (err error) {
	p.clock = packetio.Timebase{Start: start, Dilation: s.Dilate}.Clock()
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
		// The loop shares its processor with the kernel's TCP and the peer: without a priority, it is as late as the
		// host is busy. An endpoint that makes its packets itself takes more of the processor than that, and the taps
		// would starve.
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

// receive hands every frame that waits at a device to the actor, one batch at a time so that sending is not starved.
// What a frame causes is made before the next one is looked at, as in a NIC: a NAK that waited for the end of the batch
// would be withdrawn when the missing packet came later in the same batch.
//
// Where the kernel's TCP takes the frames, the port tells how long they waited until the loop could act on them. It
// acts on all of them at once, so all are looked at: those left for the next turn would seem to wait when the sockets
// have been served.
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

// send fills the outboxes and hands them to the devices, or the sockets to the kernel.
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

// fill puts into the outboxes what the actor has to send, since that which caused it, and the lines have room for.
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

// next is when the loop has to turn again although nothing arrives.
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
	tellEvery = 100 * vtime.Millisecond // how often the bench hears how far the work is
	drains    = 50 * vtime.Microsecond  // a device that is full takes frames again
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
