package run

import (
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// belt is a Sink that carries a trace to another, on a goroutine of its own, so that judging and measuring share no
// processor with the bench. The order is kept, and so is every result. A bench that is ahead by some batches waits.
type belt struct {
	load  *batch // being filled
	ready chan *batch
	empty chan *batch
	ended chan struct{}
	err   error // of the receiver, which panicked; read it after ended

	to       trace.Sink
	timeline *trace.Timeline // within to, which borrows the records; nil where none does
	lent     []*batch        // those that it has been given and still needs, oldest first
}

var _ judging.Waiter = (*belt)(nil)

// The size of a batch amortises the hand-over and still fits a processor's cache.
const (
	batchRecords = 256
	batchEvents  = 1024
	batches      = 24      // by how many a bench may be ahead
	mostEmpty    = 1 << 10 // batches that are kept for later
)

// batch is a piece of a trace. Records reference memory that the bench uses again, so a batch owns copies.
type batch struct {
	records [batchRecords]trace.Kept
	count   int // of them
	events  []trace.Event
	before  []int // how many of the records precede each event
	last    bool
	end     vtime.Time
	lease   trace.Lease
}

// newBelt starts a belt to a sink. It has to be waited for. A timeline within the sink may be named: records then wait
// on it where they are.
func newBelt(to trace.Sink, timeline *trace.Timeline) *belt {
	b := &belt{ready: make(chan *batch, batches), empty: make(chan *batch, mostEmpty), ended: make(chan struct{}),
		to: to, timeline: timeline}
	b.load = b.take()
	go b.run()
	return b
}

// Packet implements trace.Sink.
func (b *belt) Packet(r *trace.Record) {
	l := b.load
	l.records[l.count].Keep(r)
	if l.count++; l.count == batchRecords {
		b.pass()
	}
}

// Event implements trace.Sink.
func (b *belt) Event(e *trace.Event) {
	l := b.load
	l.events, l.before = append(l.events, *e), append(l.before, l.count)
	if len(l.events) == batchEvents {
		b.pass()
	}
}

// End implements trace.Sink.
func (b *belt) End(at vtime.Time) {
	b.load.last, b.load.end = true, at
	b.pass()
}

// Wait implements judging.Waiter: it stops the belt and waits until everything has been received; a bench that broke
// may not have ended its trace. It returns the receiver's panic.
func (b *belt) Wait() error {
	b.pass()
	close(b.ready)
	<-b.ended
	return b.err
}

// pass hands the batch on and takes an empty one.
func (b *belt) pass() {
	b.ready <- b.load
	b.load = b.take()
}

// take returns an empty batch, a new one only while every other is in use: most runs are short, and receivers keep up.
func (b *belt) take() *batch {
	select {
	case load := <-b.empty:
		return load
	default:
		return &batch{}
	}
}

// run receives until the belt is stopped. When the receiver panics, what still comes is thrown away, so that the bench
// can go on to clean up.
func (b *belt) run() {
	defer close(b.ended)
	for load := range b.ready {
		if b.err == nil {
			if b.timeline != nil {
				b.timeline.Borrow(&load.lease)
			}
			b.err = load.play(b.to)
		}
		b.lent = append(b.lent, load)
		b.giveBack()
	}
}

// giveBack makes batches empty of which nothing is needed any more.
func (b *belt) giveBack() {
	b.lent = slices.DeleteFunc(b.lent, func(l *batch) bool {
		if l.lease > 0 {
			return false
		}
		l.clear()
		select {
		case b.empty <- l:
		default: // there are enough
		}
		return true
	})
}

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
			s.Packet(&l.records[next].Rec)
		}
		s.Event(&l.events[i])
	}
	for ; next < l.count; next++ {
		s.Packet(&l.records[next].Rec)
	}
	if l.last {
		s.End(l.end)
	}
	return nil
}

func (l *batch) clear() {
	l.count, l.events, l.before, l.last = 0, l.events[:0], l.before[:0], false
}

// panicked is a panic of an engine, a bench or a consumer, turned into an error so that the run still ends in order.
type panicked struct {
	value any
	stack []byte
}

// Error implements error in one line; the stack goes to a file.
func (p *panicked) Error() string { return fmt.Sprintf("run: panic: %v", p.value) }

func broken(value any, stack []byte) error { return &panicked{value, stack} }
