package relay

import (
	"cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// path is one direction of the relay.
type path struct {
	relay   *relay
	side    fault.Side // of the sender
	in      Device
	out     outlet         // of what has been through the channel
	past    outlet         // of what nothing must happen to, behind the relay either
	delay   vtime.Duration // of the link, for injected frames
	channel *channel.Channel
	held    [channel.MaxHeld]parked
	nheld   int
	script  script
	verdict channel.Verdict // of the frame at hand; a field, because Alter is unknown code and would make it escape
	stats   PathStats
	base    packetio.Counts // kernel counters when the phase began
}

// parked is a frame that a reorder fault holds back.
type parked struct {
	ticket uint64
	frame  []byte
	record Record
}

// newPath returns a path without a channel; begin gives it one.
func newPath(r *relay, side fault.Side, in Device, out, past Sender) *path {
	return &path{relay: r, side: side, in: in, out: newOutlet(out), past: newOutlet(cmp.Or(past, out))}
}

// receive takes one batch from the device and reports whether there was any.
func (p *path) receive() (bool, error) {
	batch, err := p.in.Receive()
	for i := range batch {
		p.accept(&batch[i])
	}
	return len(batch) > 0, err
}

// accept decides what becomes of one frame.
func (p *path) accept(f *packetio.Packet) {
	p.stats.Received++
	if f.Length > len(f.Data) { // only segmentation offload makes such frames, and the topology switches it off
		p.stats.Oversize++
		return
	}
	id, known := p.relay.config.Classifier.Classify(p.side, f.Data)
	if !known {
		p.foreign(f)
		return
	}
	// The kernel's stamp, not the time of this call, is when the packet entered the link: what the relay is late by
	// does not add to the delay, nor to the time on the line.
	v := &p.verdict
	*v = p.channel.Offer(f.Time, f.Length+wireOverhead, p.side, id)
	record := Record{
		At: f.Time, From: p.side, QP: id.QP, PSN: id.PSN, Offset: id.Offset, Type: id.Type,
		Fate: Lost, Sent: v.Sent, Arrive: v.Arrive, Copies: v.Copies, Gap: v.Gap,
		In:    p.relay.config.Classifier.Fingerprint(f.Data),
		Cause: p.relay.cause(v.Cause),
	}
	if v.Fate == channel.Lost {
		p.relay.journal.add(&record)
	} else {
		p.keep(f.Data, v, &record)
	}
	p.release(f.Time)
	p.injectBehind(v)
}

// foreign handles a frame that takes no part in the run.
func (p *path) foreign(f *packetio.Packet) {
	p.stats.Foreign++
	if p.relay.config.Foreign == Pass {
		p.enqueue(&p.past, f.Time, f.Data)
	}
}

// keep copies a frame that will arrive, and its copies, out of the receive buffer.
func (p *path) keep(data []byte, v *channel.Verdict, record *Record) {
	frame := p.relay.store.get(len(data))
	if frame == nil {
		p.stats.Overflow++
		record.Fate, record.Arrive, record.Cause = Overflow, vtime.Never, "relay"
		p.relay.journal.add(record)
		return
	}
	copy(frame, data)
	if !v.Intact() {
		p.relay.config.Alter(frame, v)
		if out := p.relay.config.Classifier.Fingerprint(frame); out != record.In {
			record.Out = out
		}
	}
	record.Fate = Delivered
	if v.Fate == channel.Held {
		p.held[p.nheld] = parked{v.Ticket, frame, *record}
		p.nheld++
		return
	}
	p.relay.journal.add(record)
	p.out.queue.push(v.Arrive, frame)
	// Copies are copied from a queued frame: it cannot leave, and be overwritten, before this thread comes to that.
	for i := range v.Copies {
		p.enqueue(&p.out, v.Copy(v.Arrive, i+1), frame)
	}
}

// enqueue copies a frame into the queue of an outlet.
func (p *path) enqueue(o *outlet, due vtime.Time, data []byte) {
	frame := p.relay.store.get(len(data))
	if frame == nil {
		p.stats.Overflow++
		return
	}
	copy(frame, data)
	o.queue.push(due, frame)
}

// release lets go what the channel no longer holds back.
func (p *path) release(now vtime.Time) {
	for p.nheld > 0 {
		free, ok := p.channel.Release(now)
		if !ok {
			return
		}
		p.free(free.Ticket, free.Arrive)
	}
}

// free queues one held frame.
func (p *path) free(ticket uint64, due vtime.Time) {
	for i := range p.held[:p.nheld] {
		h := &p.held[i]
		if h.ticket != ticket {
			continue
		}
		h.record.Arrive = due
		p.relay.journal.add(&h.record)
		p.out.queue.push(due, h.frame)
		p.nheld--
		p.held[i] = p.held[p.nheld]
		p.held[p.nheld] = parked{}
		return
	}
}

// depart sends what is due, at most one batch by each outlet.
func (p *path) depart(now vtime.Time) error {
	for _, o := range [...]*outlet{&p.past, &p.out} {
		leaving := o.due(now)
		if len(leaving) == 0 {
			continue
		}
		n, err := o.send()
		// Lateness includes the system call, which on a veth ends with the frame in the receiver's queue.
		sent := p.relay.config.Clock.Now()
		for _, d := range leaving[:n] {
			p.relay.lateness.record(sent.Sub(d.due))
			p.relay.store.put(d.frame)
		}
		p.stats.Forwarded += uint64(n)
		if err != nil {
			return err
		}
		if o.stalled() {
			p.stats.Stalls++
		}
	}
	return nil
}

// next returns when the path has something to do, frames from the device aside.
func (p *path) next(now vtime.Time) vtime.Time {
	t := min(p.out.next(now), p.past.next(now), p.script.next())
	if p.nheld > 0 {
		t = min(t, p.channel.NextRelease())
	}
	return t
}

// inFlight counts the frames that wait for their time.
func (p *path) inFlight() int { return p.out.waiting() + p.past.waiting() + p.nheld }
