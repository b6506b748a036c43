package sim

import (
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// outbox puts records and events into the order of their times before they reach the sink. A record is known when its
// first bit leaves and belongs where its last bit does, so at most one transmission per side waits, unless a reorder
// fault holds a packet whose arrival is not known yet: then everything behind it waits too.
type outbox struct {
	sink    trace.Sink
	waiting []item // by time; those of equal time in the order in which they came
	spare   []*trace.Record
	held    bool // a held packet waits: records may wait longer than their bytes live, so they are cloned
}

type item struct {
	at     vtime.Time
	rec    *trace.Record // nil for an event
	event  trace.Event
	ticket uint64 // not zero: held, arrival unknown
}

// record takes a record at the moment of its transmission; its bytes stay valid until it arrives.
func (o *outbox) record(r *trace.Record, ticket uint64) {
	if o.sink == nil {
		return
	}
	c := o.blank()
	*c = *r
	if ticket != 0 && !o.held {
		o.held = true
		o.keepAll()
	}
	if o.held {
		c = r.Clone()
	}
	o.insert(item{at: r.Sent, rec: c, ticket: ticket})
}

// unsent takes the record of a packet that no endpoint sent, a crafted one or a copy: it belongs where it arrives.
func (o *outbox) unsent(r *trace.Record) {
	if o.sink != nil {
		o.insert(item{at: r.Recv, rec: r.Clone()})
	}
}

// event takes an event, which happens now; it is later than everything that has been flushed.
func (o *outbox) event(e *trace.Event) {
	switch {
	case o.sink == nil:
	case len(o.waiting) == 0 || o.waiting[0].at > e.At:
		o.sink.Event(e)
	default:
		o.insert(item{at: e.At, event: *e})
	}
}

func (o *outbox) insert(it item) {
	i := len(o.waiting)
	o.waiting = append(o.waiting, it)
	for ; i > 0 && o.waiting[i-1].at > it.at; i-- {
		o.waiting[i] = o.waiting[i-1]
	}
	o.waiting[i] = it
}

// resolve fills in the arrival of a held packet.
func (o *outbox) resolve(ticket uint64, arrive vtime.Time) {
	for i := range o.waiting {
		if it := &o.waiting[i]; it.ticket == ticket && it.rec != nil {
			it.rec.Recv, it.ticket = arrive, 0
		}
	}
}

// flush lets out what is not later than now and not behind a held packet.
func (o *outbox) flush(now vtime.Time) {
	n := 0
	for n < len(o.waiting) && o.waiting[n].at <= now && o.waiting[n].ticket == 0 {
		o.emit(&o.waiting[n])
		n++
	}
	if n > 0 {
		o.waiting = o.waiting[:copy(o.waiting, o.waiting[n:])]
		o.held = len(o.waiting) > 0 && o.held
	}
}

// keepAll clones what waits, because a held packet will let it wait beyond the life of its bytes.
func (o *outbox) keepAll() {
	for i := range o.waiting {
		if r := o.waiting[i].rec; r != nil {
			o.waiting[i].rec = r.Clone()
		}
	}
}

func (o *outbox) emit(it *item) {
	if it.rec == nil {
		o.sink.Event(&it.event)
		return
	}
	o.sink.Packet(it.rec)
	o.spare = append(o.spare, it.rec)
}

// end lets everything out: a packet that was still held never arrived.
func (o *outbox) end(now vtime.Time) {
	if o.sink == nil {
		return
	}
	for i := range o.waiting {
		o.waiting[i].ticket = 0
	}
	o.flush(vtime.Never)
	o.sink.End(now)
}

func (o *outbox) blank() *trace.Record {
	if n := len(o.spare); n > 0 {
		r := o.spare[n-1]
		o.spare = o.spare[:n-1]
		return r
	}
	return &trace.Record{}
}
