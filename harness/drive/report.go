package drive

import (
	"hash/crc32"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Observer receives the reports of the endpoint. The event is valid during the call only.
type Observer interface {
	Event(*trace.Event)
}

// reports passes events from the parts of an endpoint to its observer.
type reports struct {
	observer Observer // nil discards all events
	side     trace.Side
	detail   bool         // the Spec asks for the events that only rules need
	now      vtime.Time   // time of the call that the endpoint is in, and of all events that it reports
	storing  int          // connection whose engine is placing bytes in memory
	event    trace.Event  // the event being reported
	scratch  []engine.Var // memory of vars
}

// send passes the event, whose other fields are set, to the observer.
func (r *reports) send(i int, kind trace.EventKind) {
	if r.observer == nil {
		return
	}
	r.event.At, r.event.Side, r.event.Conn, r.event.Kind = r.now, r.side, i, kind
	r.observer.Event(&r.event)
}

// engine reports an event of an engine.
func (r *reports) engine(i int, kind trace.EventKind, ev *engine.Event) {
	r.event = trace.Event{Body: *ev, VA: ev.VA, Len: ev.Len}
	r.send(i, kind)
}

// post reports a work request that the engine accepted, and how long it waited for room in the queue.
func (r *reports) post(i int, wr *engine.WorkRequest, waited vtime.Duration) {
	r.event = trace.Event{Body: engine.Event{ID: wr.ID, Op: wr.Op, Len: wr.Len, Imm: wr.Imm}, VA: wr.RemoteVA,
		Len: wr.Len, RKey: wr.RKey, Value: int64(waited)}
	r.send(i, trace.Post)
}

// receive reports a receive that the engine accepted.
func (r *reports) receive(i int, rr *engine.ReceiveRequest) {
	r.event = trace.Event{Body: engine.Event{ID: rr.ID, Len: rr.Len}, VA: rr.VA, Len: rr.Len}
	r.send(i, trace.Receive)
}

// timer reports the deadline of the transport timer, or that it stopped.
func (r *reports) timer(i int, at vtime.Time) {
	r.event = trace.Event{Deadline: at}
	r.send(i, trace.Timer)
}

// count reports how often something has happened.
func (r *reports) count(i int, name string, n int64) { r.number(i, trace.Count, name, n) }

// probe reports a value that cannot be seen on the wire.
func (r *reports) probe(i int, name string, value int64) { r.number(i, trace.Probe, name, value) }

// number reports a value by its name.
func (r *reports) number(i int, kind trace.EventKind, name string, value int64) {
	r.event = trace.Event{Name: name, Value: value}
	r.send(i, kind)
}

// vars reports the variables of a QP's engines that have changed since the last call. It is called after each input
// that the engines have processed. A variable that is zero in a fresh engine is not reported until it changes.
func (r *reports) vars(i int, q *qp) {
	now := q.inspect(r.scratch[:0])
	r.scratch = now
	if len(q.vars) != len(now) {
		q.vars = make([]int64, len(now))
	}
	for k := range now {
		if v := &now[k]; v.Value != q.vars[k] {
			q.vars[k] = v.Value
			r.probe(i, v.Name, v.Value)
		}
	}
}

// region reports memory that a peer may access, so that a rule can distinguish a bad key or address from a good one.
func (r *reports) region(i int, rkey uint32, va, n uint64, access engine.Access) {
	r.probe(i, "mr_rkey", int64(rkey))
	r.probe(i, "mr_va", int64(va))
	r.probe(i, "mr_len", int64(n))
	r.probe(i, "mr_access", int64(access))
}

// store is the Watch of a memory: it reports every placement that an engine makes.
func (r *reports) store(va uint64, data []byte, n int) {
	r.event = trace.Event{VA: va, Len: uint32(n), Sum: crc32.ChecksumIEEE(data)}
	r.send(r.storing, trace.Store)
}

// memoryOf returns the memory for the engines of connection i: the memory itself when placements are not reported.
func (r *reports) memoryOf(i int, h *memory.Host) engine.Memory {
	if h.Watch == nil {
		return h
	}
	return &ownMemory{h, r, i}
}

// ownMemory is the memory as one QP has it, so that a placement is reported for the right QP. That need not be the QP
// that is being called: a host whose QPs share a receive pipeline passes on whichever packet is next.
type ownMemory struct {
	*memory.Host
	out *reports
	qp  int
}

// Store implements engine.Memory.
func (m *ownMemory) Store(va uint64, data []byte, n int) bool {
	m.out.storing = m.qp
	return m.Host.Store(va, data, n)
}
