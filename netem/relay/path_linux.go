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
	side    fault.Side              // side of the sender
	in      Device                  // device of the sender
	out     outlet                  // output for frames from the channel
	past    outlet                  // output for crafted and foreign frames, bypassing the qdisc
	delay   vtime.Duration          // delay of the link, for injected frames
	channel *channel.Channel        // replaced at the start of each phase
	held    [channel.MaxHeld]parked // frames held back by reorder faults, in no order
	nheld   int                     // frames in held
	script  script
	verdict channel.Verdict // verdict of the current frame; a field, because Alter would move a local one to the heap
	stats   PathStats
	base    packetio.Counts // kernel counters at the start of the phase
}

// parked is a frame that a reorder fault holds back.
type parked struct {
	ticket uint64 // channel.Verdict.Ticket
	frame  []byte
	record Record // to be logged at the release
}

// newPath returns a path without a channel; begin sets the channel.
func newPath(r *relay, side fault.Side, in Device, out, past Sender) *path {
	return &path{relay: r, side: side, in: in, out: newOutlet(out), past: newOutlet(cmp.Or(past, out))}
}

// receive processes one batch of frames from the device and reports whether there was any frame.
func (p *path) receive() (bool, error) {
	batch, err := p.in.Receive()
	for i := range batch {
		p.accept(&batch[i])
	}
	return len(batch) > 0, err
}

// accept processes one frame from the device.
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
	// The packet enters the link at the kernel's timestamp, not at the time of this call, so that the relay's own
	// processing time adds neither to the delay nor to the time on the line.
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

// foreign forwards or drops a frame that the Classifier does not know.
func (p *path) foreign(f *packetio.Packet) {
	p.stats.Foreign++
	if p.relay.config.Foreign == Pass {
		p.enqueue(&p.past, f.Time, f.Data)
	}
}

// keep copies a frame that will arrive out of the receive buffer, alters it, and queues it with its extra copies; a
// held frame is parked instead.
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
	// The copies are made from the queued frame, which only this thread sends, after this call.
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

// release queues the frames that the channel no longer holds back.
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

// depart sends the frames that are due, at most one batch per outlet.
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

// next returns the time of the next action of the path, apart from receiving frames.
func (p *path) next(now vtime.Time) vtime.Time {
	t := min(p.out.next(now), p.past.next(now), p.script.next())
	if p.nheld > 0 {
		t = min(t, p.channel.NextRelease())
	}
	return t
}

// inFlight returns the number of frames that wait for their departure or release.
func (p *path) inFlight() int { return p.out.waiting() + p.past.waiting() + p.nheld }
