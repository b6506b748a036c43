package run

import (
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// belt is a Sink that forwards a trace to another sink on a goroutine of its own, so that judge and metrics run beside
// the bench, on another processor. Records and events keep their order, so results do not change. The bench waits while
// it is batches ahead.
type belt struct {
	load  *batch // being filled by the bench
	ready chan *batch
	empty chan *batch
	ended chan struct{}
	err   error // a panic of the receiving sink; valid once ended is closed

	to       trace.Sink
	timeline *trace.Timeline // the timeline within to that borrows the records; nil when none does
	lent     []*batch        // batches that have been played and whose records the timeline still holds, oldest first
}

var _ judging.Waiter = (*belt)(nil)

// A batch is large enough to amortise the hand-over between goroutines and small enough for a processor's cache.
const (
	batchRecords = 256
	batchEvents  = 1024
	batches      = 24      // how many batches the bench may be ahead
	mostEmpty    = 1 << 10 // how many empty batches are kept for reuse
)

// batch is a part of a trace. The bench reuses the memory behind its records, so a batch holds copies.
type batch struct {
	records [batchRecords]trace.Kept
	count   int // of records in use
	events  []trace.Event
	before  []int // for each event, the number of records before it
	last    bool
	end     vtime.Time
	lease   trace.Lease
}

// newBelt starts a belt to a sink; the caller has to call Wait. A timeline within the sink may be given: it then
// borrows the records from the batches in place of copying them.
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

// Wait implements judging.Waiter: it stops the belt, also when a bench that broke has not ended its trace, waits until
// the sink has received everything, and returns the sink's panic as an error.
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

// take returns an empty batch. It makes a new one only while all others are in use: most runs are short, and sinks keep
// up.
func (b *belt) take() *batch {
	select {
	case load := <-b.empty:
		return load
	default:
		return &batch{}
	}
}

// run plays batches until the belt is stopped. After a panic of the sink it discards the rest of the trace, so that the
// bench can still clean up.
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

// giveBack recycles the batches of which the timeline holds no record any more.
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

// play replays the batch to s, and returns a panic of s as an error.
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

// panicked is a panic of an engine, a bench or a sink as an error, so that the run still ends in order.
type panicked struct {
	value any
	stack []byte
}

// Error implements error, in one line; the stack goes to panic.txt.
func (p *panicked) Error() string { return fmt.Sprintf("run: panic: %v", p.value) }

func broken(value any, stack []byte) error { return &panicked{value, stack} }
