package run

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// belt is a Sink that carries a trace to others, each on a goroutine of its own, so that judging and measuring share no
// processor with the bench or each other. The order is kept, and so is every result. Its memory is a fixed number of
// batches: a bench that is ahead waits. Receivers share the records and must not change them.
type belt struct {
	load  *batch // being filled
	lanes []lane
	empty chan *batch
	made  int // batches so far, at most the capacity of empty
}

var _ judging.Waiter = (*belt)(nil)

// lane is the way to one receiver.
type lane struct {
	ready chan *batch
	ended chan struct{}
	err   *error // of the receiver, which panicked; read it after ended
}

// The size of a batch amortises the hand-over and still fits a processor's cache; the batches together are a few MB.
const (
	batchRecords = 256
	batchEvents  = 1024
	batches      = 24
)

// batch is a piece of a trace. Records reference memory that the bench uses again, so a batch owns copies.
type batch struct {
	records []trace.Record
	events  []trace.Event
	before  []int  // how many of the records precede each event
	bytes   []byte // frames and payloads of the records
	last    bool
	end     vtime.Time
	users   atomic.Int32 // receivers that have not finished with it
}

// newBelt starts a belt to sinks. It has to be waited for.
func newBelt(sinks ...trace.Sink) *belt {
	b := &belt{empty: make(chan *batch, batches)}
	b.load = b.take()
	for _, s := range sinks {
		l := lane{make(chan *batch, batches), make(chan struct{}), new(error)}
		b.lanes = append(b.lanes, l)
		go b.run(l, s)
	}
	return b
}

// Packet implements trace.Sink.
func (b *belt) Packet(r *trace.Record) {
	b.load.add(r)
	if len(b.load.records) == batchRecords {
		b.pass()
	}
}

// Event implements trace.Sink.
func (b *belt) Event(e *trace.Event) {
	l := b.load
	l.events, l.before = append(l.events, *e), append(l.before, len(l.records))
	if len(l.events) == batchEvents {
		b.pass()
	}
}

// End implements trace.Sink.
func (b *belt) End(at vtime.Time) {
	b.load.last, b.load.end = true, at
	b.pass()
}

// Wait implements judging.Waiter: it stops the belt and waits until everything has been received; a bench that broke may not
// have ended its trace. It returns the first receiver's panic.
func (b *belt) Wait() (first error) {
	b.pass()
	for _, l := range b.lanes {
		close(l.ready)
		<-l.ended
		first = cmp.Or(first, *l.err)
	}
	return first
}

// pass hands the batch on and takes an empty one.
func (b *belt) pass() {
	b.load.users.Store(int32(len(b.lanes)))
	for _, l := range b.lanes {
		l.ready <- b.load
	}
	b.load = b.take()
}

// take returns an empty batch, a new one only while every other is in use: most runs are short, and receivers keep up.
func (b *belt) take() *batch {
	select {
	case load := <-b.empty:
		return load
	default:
	}
	if b.made == cap(b.empty) {
		return <-b.empty
	}
	b.made++
	return &batch{records: make([]trace.Record, 0, batchRecords)}
}

// run receives until the belt is stopped. When the receiver panics, what still comes is thrown away, so that the bench
// can go on to clean up.
func (b *belt) run(l lane, s trace.Sink) {
	defer close(l.ended)
	for load := range l.ready {
		if *l.err == nil {
			*l.err = load.play(s)
		}
		if load.users.Add(-1) == 0 {
			load.clear()
			b.empty <- load
		}
	}
}

// add copies a record.
func (l *batch) add(r *trace.Record) {
	l.records = append(l.records, *r)
	if r.Raw == nil && r.Packet.Payload == nil && r.Changed == nil {
		return
	}
	c := &l.records[len(l.records)-1]
	c.Raw = l.own(c.Raw)
	l.payload(&c.Packet)
	if c.Changed != nil {
		change := *c.Changed
		change.Raw = l.own(change.Raw)
		l.payload(&change.Packet)
		c.Changed = &change
	}
}

// own copies bytes into the batch, keeping nil as nil. A buffer that grows leaves earlier copies where they are.
func (l *batch) own(p []byte) []byte {
	if p == nil {
		return nil
	}
	at := len(l.bytes)
	l.bytes = append(l.bytes, p...)
	return l.bytes[at:len(l.bytes):len(l.bytes)]
}

func (l *batch) payload(p *roce.Packet) { p.Payload = l.own(p.Payload) }

// play hands the batch to s.
func (l *batch) play(s trace.Sink) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = broken(p, debug.Stack())
		}
	}()
	next := 0
	for i := range l.events {
		for ; next < l.before[i]; next++ {
			s.Packet(&l.records[next])
		}
		s.Event(&l.events[i])
	}
	for ; next < len(l.records); next++ {
		s.Packet(&l.records[next])
	}
	if l.last {
		s.End(l.end)
	}
	return nil
}

func (l *batch) clear() {
	l.records, l.events, l.before, l.bytes, l.last = l.records[:0], l.events[:0], l.before[:0], l.bytes[:0], false
}

// panicked is a panic of an engine, a bench or a consumer, turned into an error so that the run still ends in order.
type panicked struct {
	value any
	stack []byte
}

// Error implements error in one line; the stack goes to a file.
func (p *panicked) Error() string { return fmt.Sprintf("run: panic: %v", p.value) }

func broken(value any, stack []byte) error { return &panicked{value, stack} }
