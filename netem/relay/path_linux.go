package relay

import (
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// batchSize is how many frames leave in one system call.
const batchSize = 64

// path is one direction of the relay.
type path struct {
	relay   *relay
	side    fault.Side // of the sender
	in, out Device
	delay   vtime.Duration // of the link, for injected frames
	channel *channel.Channel
	queue   queue
	held    [channel.MaxHeld]parked
	nheld   int
	leaving []departure // taken from the queue, about to be sent
	frames  [][]byte    // of leaving, as Send wants them
	gone    int         // how many of them are sent
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
func newPath(r *relay, side fault.Side, in, out Device) *path {
	return &path{relay: r, side: side, in: in, out: out,
		leaving: make([]departure, 0, batchSize), frames: make([][]byte, 0, batchSize)}
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
		Fate: Lost, Sent: v.Sent, Arrive: v.Arrive, Copies: v.Copies, Cause: p.relay.cause(v.Cause),
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
		p.enqueue(f.Time, f.Data)
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
	}
	record.Fate = Delivered
	if v.Fate == channel.Held {
		p.held[p.nheld] = parked{v.Ticket, frame, *record}
		p.nheld++
		return
	}
	p.relay.journal.add(record)
	p.queue.push(v.Arrive, frame)
	// Copies are copied from a queued frame: it cannot leave, and be overwritten, before this thread comes to that.
	for i := range v.Copies {
		p.enqueue(v.Copy(v.Arrive, i+1), frame)
	}
}

// enqueue copies a frame into the queue.
func (p *path) enqueue(due vtime.Time, data []byte) {
	frame := p.relay.store.get(len(data))
	if frame == nil {
		p.stats.Overflow++
		return
	}
	copy(frame, data)
	p.queue.push(due, frame)
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
		p.queue.push(due, h.frame)
		p.nheld--
		p.held[i] = p.held[p.nheld]
		p.held[p.nheld] = parked{}
		return
	}
}

// depart sends what is due, at most one batch, and the rest of the one before if the device had not taken it.
func (p *path) depart(now vtime.Time) error {
	if p.gone == len(p.leaving) && !p.refill(now) {
		return nil
	}
	n, err := p.out.Send(p.frames[p.gone:])
	// Lateness includes the system call, which on a veth ends with the frame in the receiver's queue.
	sent := p.relay.config.Clock.Now()
	for _, d := range p.leaving[p.gone:][:n] {
		p.relay.lateness.record(sent.Sub(d.due))
		p.relay.store.put(d.frame)
	}
	p.gone += n
	p.stats.Forwarded += uint64(n)
	if err == nil && p.stalled() {
		p.stats.Stalls++
	}
	return err
}

// refill takes the next batch of due frames from the queue.
func (p *path) refill(now vtime.Time) bool {
	p.leaving, p.frames, p.gone = p.leaving[:0], p.frames[:0], 0
	for len(p.leaving) < batchSize {
		d, ok := p.queue.pop(now)
		if !ok {
			break
		}
		p.leaving, p.frames = append(p.leaving, d), append(p.frames, d.frame)
	}
	return len(p.leaving) > 0
}

// stalled reports whether the device has not taken all of the last batch.
func (p *path) stalled() bool { return p.gone < len(p.leaving) }

// retry is how long a stalled device is left alone.
const retry = 100 * vtime.Microsecond

// next returns when the path has something to do, frames from the device aside.
func (p *path) next(now vtime.Time) vtime.Time {
	t := min(p.queue.next(), p.script.next())
	if p.stalled() {
		t = now.Add(retry)
	}
	if p.nheld > 0 {
		t = min(t, p.channel.NextRelease())
	}
	return t
}
