package drive

import (
	"hash/crc32"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Observer takes what the endpoint reports. The event is valid during the call only.
type Observer interface {
	Event(*trace.Event)
}

// reports is what the parts of an endpoint tell its observer.
type reports struct {
	observer Observer // nil discards all
	side     trace.Side
	detail   bool         // the Spec asks for what only a judge of rules wants
	now      vtime.Time   // of the call that the endpoint is in: when everything happens that is told
	storing  int          // connection whose engine is placing bytes in memory
	event    trace.Event  // being told
	scratch  []engine.Var // of vars
}

// send hands the event, whose other fields are set, to the observer.
func (r *reports) send(i int, kind trace.EventKind) {
	if r.observer == nil {
		return
	}
	r.event.At, r.event.Side, r.event.Conn, r.event.Kind = r.now, r.side, i, kind
	r.observer.Event(&r.event)
}

// engine hands on an event of an engine.
func (r *reports) engine(i int, kind trace.EventKind, ev *engine.Event) {
	r.event = trace.Event{Body: *ev, VA: ev.VA, Len: ev.Len}
	r.send(i, kind)
}

// post tells of a work request that the engine took, and of how long it waited for room.
func (r *reports) post(i int, wr *engine.WorkRequest, waited vtime.Duration) {
	r.event = trace.Event{Body: engine.Event{ID: wr.ID, Op: wr.Op, Len: wr.Len, Imm: wr.Imm}, VA: wr.RemoteVA,
		Len: wr.Len, RKey: wr.RKey, Value: int64(waited)}
	r.send(i, trace.Post)
}

// receive tells of a receive that the engine took.
func (r *reports) receive(i int, rr *engine.ReceiveRequest) {
	r.event = trace.Event{Body: engine.Event{ID: rr.ID, Len: rr.Len}, VA: rr.VA, Len: rr.Len}
	r.send(i, trace.Receive)
}

// timer tells when the transport timer will expire, or that it stopped.
func (r *reports) timer(i int, at vtime.Time) {
	r.event = trace.Event{Deadline: at}
	r.send(i, trace.Timer)
}

// count tells how often something has happened.
func (r *reports) count(i int, name string, n int64) { r.number(i, trace.Count, name, n) }

// probe tells the value of something that cannot be seen on the wire.
func (r *reports) probe(i int, name string, value int64) { r.number(i, trace.Probe, name, value) }

// number tells a value by its name.
func (r *reports) number(i int, kind trace.EventKind, name string, value int64) {
	r.event = trace.Event{Name: name, Value: value}
	r.send(i, kind)
}

// vars tells which variables of a QP's engines have changed since the last time: after each input, when the engines
// have taken it. A variable that a fresh engine has at zero is not told until it changes.
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

// region tells which memory a peer may reach, so that a judge can tell a bad key or address from a good one.
func (r *reports) region(i int, rkey uint32, va, n uint64, access engine.Access) {
	r.probe(i, "mr_rkey", int64(rkey))
	r.probe(i, "mr_va", int64(va))
	r.probe(i, "mr_len", int64(n))
	r.probe(i, "mr_access", int64(access))
}

// store is the watch of a memory: it sees every placement while an engine is being called.
func (r *reports) store(va uint64, data []byte, n int) {
	r.event = trace.Event{VA: va, Len: uint32(n), Sum: crc32.ChecksumIEEE(data)}
	r.send(r.storing, trace.Store)
}

// memoryOf returns what the engines of connection i are given: when nobody asks for placements, the memory itself.
func (r *reports) memoryOf(i int, h *memory.Host) engine.Memory {
	if h.Watch == nil {
		return h
	}
	return &ownMemory{h, r, i}
}

// ownMemory is the memory as one QP has it, so that a placement is told of the QP whose it is. That need not be the one
// that is being called: a host whose QPs share a receive pipeline hands over whichever packet is next.
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
