package enginetest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// The link of a pair: a packet occupies it for gap and arrives after delay.
const (
	gap   = 100 * vtime.Nanosecond
	delay = 5 * vtime.Microsecond
)

// maxSteps bounds a run; a scheme that needs more is in a livelock.
const maxSteps = 100_000

// pair is two ends of a QP on one virtual wire: the smallest driver that obeys the drain order of package engine.
type pair struct {
	now  vtime.Time
	ends [2]*end
	wire []flight // by arrival, then by order of sending
	sent int
	log  []byte // every packet and event, PSNs relative to their origin
	base psn.PSN
	err  error // first breach of the contract

	accepts   func(roce.Opcode) bool           // opcodes outside the RC class that the scheme understands; nil for none
	readStart func(engine.QP) psn.PSN          // Options.ReadStart
	fate      func(n int, p *roce.Packet) fate // fate of the n-th packet on the wire
	nagging   bool                             // make calls without effect: early timers, refused polls
	posts     []engine.WorkRequest             // posted by end 0 in order, as its queue has room
	receives  uint64                           // number of receives that end 1 posts, as its queue has room
	given     uint64                           // receives posted so far
	flushAt   vtime.Time                       // time at which end 0 is flushed; zero for never
}

// end is one end of the QP.
type end struct {
	qp     engine.QP
	mem    *memory.Host
	req    engine.Requester
	resp   engine.Responder
	free   vtime.Time // time at which its side of the wire is free
	events []engine.Event
	failed bool
}

// flight is a packet on the wire.
type flight struct {
	at  vtime.Time
	seq int
	to  int
	p   roce.Packet
}

// fate is the effect of the wire on a packet.
type fate struct {
	drop, twice bool
	extra       vtime.Duration // added delay, by which later packets overtake
}

// run drives the pair until nothing is left to do, and returns the first breach of the contract.
func (d *pair) run() error {
	for steps := 0; d.err == nil; steps++ {
		if steps == maxSteps {
			return fmt.Errorf("after %d steps at %sus the engines still do not come to rest", steps, d.now.Micros())
		}
		d.post()
		d.drainAll()
		if d.transmitAll() {
			continue
		}
		next := d.nextTime()
		if next == vtime.Never {
			return d.err
		}
		d.now = max(d.now, next)
		d.deliver()
		d.fire()
	}
	return d.err
}

// post gives end 0 work and end 1 receives, as far as their queues have room.
func (d *pair) post() {
	for len(d.posts) > 0 && d.ends[0].req.Post(d.now, d.posts[0]) == nil {
		d.posts = d.posts[1:]
	}
	for d.given < d.receives {
		slot := uint64(d.slot())
		rr := engine.ReceiveRequest{ID: d.given, VA: receiveBase + d.given*slot, Len: uint32(slot)}
		if d.ends[1].resp.PostReceive(d.now, rr) != nil {
			return
		}
		d.given++
	}
}

// transmitAll sends the packets of both ends whose side of the wire is free, and reports whether there were any.
func (d *pair) transmitAll() (any bool) {
	for i, e := range d.ends {
		if e.free > d.now {
			continue
		}
		f := flight{to: 1 - i}
		if e.resp.PollTransmit(d.now, &f.p) || e.req.PollTransmit(d.now, &f.p) && d.alive(e) {
			e.free = d.now.Add(gap)
			d.send(f)
			any = true
		} else if d.nagging {
			d.nag(e)
		}
	}
	return any
}

// send puts a packet on the wire according to its fate.
func (d *pair) send(f flight) {
	d.log = fmt.Appendf(d.log, "%d %d ", d.now, f.to)
	text := roce.TextOptions{Relative: true, Base: d.origin(&f), Omit: roce.AttrCheck}
	if f.p.Opcode.OverIP() { // the bytes have numbers that count from the start
		f.p.Payload, text.Omit = slices.Clone(f.p.Payload), roce.AttrData
	}
	d.log = append(f.p.AppendText(d.log, text), '\n')
	var how fate
	if d.fate != nil {
		how = d.fate(d.sent, &f.p)
	}
	d.sent++
	if how.drop {
		return
	}
	f.p.Payload = slices.Clone(f.p.Payload) // it may be in memory that the engine reuses
	f.at, f.seq = d.now.Add(gap+delay+how.extra), d.sent
	d.insert(f)
	if how.twice {
		f.at = f.at.Add(delay)
		d.insert(f)
	}
}

// origin returns the PSN to which the printed PSNs of a packet are relative.
func (d *pair) origin(f *flight) psn.PSN {
	o := f.p.Opcode
	if d.readStart == nil || !o.NumberedApart() {
		return d.base
	}
	if o.IsReadAck() {
		return d.readStart(d.ends[f.to].qp)
	}
	return d.readStart(d.ends[1-f.to].qp)
}

func (d *pair) insert(f flight) {
	at, _ := slices.BinarySearchFunc(d.wire, f, func(a, b flight) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
	})
	d.wire = slices.Insert(d.wire, at, f)
}

// nextTime returns the time of the next action, or Never.
func (d *pair) nextTime() vtime.Time {
	next := vtime.Never
	if len(d.wire) > 0 {
		next = d.wire[0].at
	}
	if d.flushAt > d.now {
		next = min(next, d.flushAt)
	}
	for _, e := range d.ends {
		if e.free > d.now {
			next = min(next, e.free)
		}
		next = min(next, deadline(e.req), deadline(e.resp))
	}
	return next
}

// deliver passes the packets that arrive now to their ends.
func (d *pair) deliver() {
	for len(d.wire) > 0 && d.wire[0].at <= d.now {
		f := d.wire[0]
		d.wire = slices.Delete(d.wire, 0, 1)
		if e := d.ends[f.to]; f.p.ToRequester() {
			e.req.HandlePacket(d.now, &f.p)
		} else {
			e.resp.HandlePacket(d.now, &f.p)
		}
		d.drainAll()
	}
}

// fire calls the timers that are due and checks that they are not due afterwards.
func (d *pair) fire() {
	if d.flushAt != 0 && d.flushAt <= d.now {
		d.flushAt = 0
		d.flush(d.ends[0])
	}
	for i, e := range d.ends {
		for _, half := range []engine.Engine{e.req, e.resp} {
			if deadline(half) > d.now {
				continue
			}
			half.HandleTimer(d.now)
			if at := deadline(half); at <= d.now {
				d.breach("end %d: HandleTimer at %sus leaves a deadline at %sus", i, d.now.Micros(), at.Micros())
			}
		}
	}
}

// drainAll polls every event and passes a failure to the other half.
func (d *pair) drainAll() {
	for i, e := range d.ends {
		for _, half := range []engine.Engine{e.req, e.resp} {
			for ev, ok := half.PollEvent(); ok; ev, ok = half.PollEvent() {
				ev.PSN = psn.PSN(0).Add(ev.PSN.Sub(d.base))
				d.log = fmt.Appendf(d.log, "%d %d %v\n", d.now, i, ev)
				e.events = append(e.events, ev)
				if ev.Kind == engine.Fatal {
					d.flush(e)
				}
				if len(e.events) > maxSteps {
					d.breach("end %d: events without end", i)
					return
				}
			}
		}
	}
}

func (d *pair) flush(e *end) {
	if !e.failed {
		e.failed = true
		e.req.Flush(d.now)
		e.resp.Flush(d.now)
	}
}

// deadline returns the time of an engine's timer, or Never.
func deadline(e engine.Engine) vtime.Time {
	if at, ok := e.PollTimer(); ok {
		return at
	}
	return vtime.Never
}
