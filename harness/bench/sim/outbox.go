package sim

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// outbox sorts records and events by time before they reach the sink. A record is known when its first bit is sent and
// belongs at the time of its last bit, so at most one transmission per side waits, unless a reorder fault holds a
// packet whose arrival is not known yet: then everything after it waits too. Copies and crafted packets belong at the
// time of their arrival, which may be much later.
type outbox struct {
	sink    trace.Sink // nil discards everything
	waiting []item     // in order of time
	later   items      // copies that are still on their way
	spare   []*trace.Record
	seq     uint64
	held    bool // a held packet waits: records may wait longer than their bytes are valid, so they are cloned
}

// item is a record or an event.
type item struct {
	at     vtime.Time
	seq    uint64 // breaks ties
	rec    *trace.Record
	event  *trace.Event
	ticket uint64 // not zero: held, arrival unknown; each side counts its own tickets
	spare  bool   // the record is recycled
}

func (a *item) compare(b *item) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
}

// blank returns a record to fill in, which is not blank: every field has to be set.
func (o *outbox) blank() *trace.Record {
	if n := len(o.spare); n > 0 {
		r := o.spare[n-1]
		o.spare = o.spare[:n-1]
		return r
	}
	return &trace.Record{}
}

// record adds a record, which blank has returned, at the time of its transmission; its bytes stay valid until the
// packet arrives.
func (o *outbox) record(r *trace.Record, ticket uint64) {
	if ticket != 0 && !o.held {
		o.held = true
		for i := range o.waiting {
			o.waiting[i].keep()
		}
	}
	it := item{at: r.Sent, rec: r, ticket: ticket, spare: true}
	if o.held {
		it.keep()
	}
	o.insert(it)
}

// keep makes the item's record independent of bytes that are reused.
func (it *item) keep() {
	if it.rec != nil {
		it.rec, it.spare = it.rec.Clone(), false
	}
}

// unsent adds the record of a packet that no endpoint sent, a crafted one or a copy, at the time of its arrival.
func (o *outbox) unsent(r *trace.Record) {
	if o.sink == nil {
		return
	}
	o.seq++
	heap.Push(&o.later, item{at: r.Recv, seq: o.seq, rec: r.Clone()})
}

// Event implements drive.Observer: an event happens now, and is later than everything that has been flushed.
func (o *outbox) Event(e *trace.Event) {
	switch {
	case o.sink == nil:
	case o.next() == nil || o.next().at > e.At:
		o.sink.Event(e)
	default:
		c := *e
		o.insert(item{at: e.At, event: &c})
	}
}

// insert searches from the end: most items are the latest, and few wait.
func (o *outbox) insert(it item) {
	o.seq++
	it.seq = o.seq
	i := len(o.waiting)
	o.waiting = append(o.waiting, it)
	for ; i > 0 && o.waiting[i-1].at > it.at; i-- {
		o.waiting[i] = o.waiting[i-1]
	}
	o.waiting[i] = it
}

// copies adds the records of a packet's copies, which the sender's tap never saw.
func (o *outbox) copies(r *trace.Record, n int, gap vtime.Duration) {
	c := *r
	c.Copy, c.Sent = true, vtime.Never
	for range n {
		c.Recv = c.Recv.Add(gap)
		o.unsent(&c)
	}
}

// resolve fills in the arrival of a packet that was held at p and has been released.
func (o *outbox) resolve(p *port, f *flight) {
	i := slices.IndexFunc(o.waiting, func(it item) bool {
		return it.ticket != 0 && it.ticket == f.ticket && it.rec.From == p.side && it.rec.Conn == f.conn+p.shift
	})
	if i >= 0 {
		r := o.waiting[i].rec
		r.Recv, o.waiting[i].ticket = f.arrive, 0
		o.copies(r, f.copies, f.gap)
	}
}

// latest returns the time of the last item that waits: a lost packet whose last bit has not left, when nothing else
// happens.
func (o *outbox) latest() vtime.Time {
	if len(o.waiting) == 0 {
		return 0
	}
	return o.waiting[len(o.waiting)-1].at
}

// next returns the earliest item, nil when nothing waits.
func (o *outbox) next() *item {
	switch {
	case len(o.waiting) == 0 && len(o.later) == 0:
		return nil
	case len(o.later) == 0 || len(o.waiting) > 0 && o.waiting[0].compare(&o.later[0]) < 0:
		return &o.waiting[0]
	}
	return &o.later[0]
}

// flush emits the items that are not later than now and not after a held packet.
func (o *outbox) flush(now vtime.Time) {
	if (len(o.waiting) == 0 || o.waiting[0].at > now) && (len(o.later) == 0 || o.later[0].at > now) {
		return
	}
	n := 0
	for {
		switch {
		case n < len(o.waiting) && (len(o.later) == 0 || o.waiting[n].compare(&o.later[0]) < 0):
			if it := &o.waiting[n]; it.at <= now && it.ticket == 0 {
				o.emit(it)
				n++
				continue
			}
		case len(o.later) > 0 && o.later[0].at <= now:
			it := heap.Pop(&o.later).(item)
			o.emit(&it)
			continue
		}
		break
	}
	if n > 0 {
		o.waiting = o.waiting[:copy(o.waiting, o.waiting[n:])]
		o.held = o.held && len(o.waiting) > 0
	}
}

// emit passes an item to the sink, which must not keep it, because its record is recycled.
func (o *outbox) emit(it *item) {
	if it.rec == nil {
		o.sink.Event(it.event)
		return
	}
	o.sink.Packet(it.rec)
	if it.spare {
		o.spare = append(o.spare, it.rec)
	}
}

// end emits the items until observation stops, and ends the trace. A packet that is still held never arrived.
func (o *outbox) end(at vtime.Time) {
	if o.sink == nil {
		return
	}
	for i := range o.waiting {
		o.waiting[i].ticket = 0
	}
	o.flush(at)
	o.sink.End(at)
}

// items is a heap in the order of compare.
type items []item

func (h items) Len() int           { return len(h) }
func (h items) Less(i, j int) bool { return h[i].compare(&h[j]) < 0 }
func (h items) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *items) Push(x any) { *h = append(*h, x.(item)) }

// Pop implements heap.Interface.
func (h *items) Pop() any {
	old := *h
	it := old[len(old)-1]
	*h = old[:len(old)-1]
	return it
}
