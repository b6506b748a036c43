package drive

import (
	"hash/crc32"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// send hands e.event, whose other fields are set, to the observer.
func (e *Endpoint) send(i int, kind trace.EventKind) {
	if e.observer == nil {
		return
	}
	e.event.At, e.event.Side, e.event.Conn, e.event.Kind = e.now, e.side, i, kind
	e.observer.Event(&e.event)
}

// report hands on an event of an engine.
func (e *Endpoint) report(i int, kind trace.EventKind, ev *engine.Event) {
	e.event = trace.Event{Body: *ev, VA: ev.VA, Len: ev.Len}
	e.send(i, kind)
}

// reportPost tells of a work request or a receive that the engine took.
func (e *Endpoint) reportPost(i int, kind trace.EventKind, wr engine.WorkRequest, waited vtime.Duration) {
	e.event = trace.Event{Body: engine.Event{ID: wr.ID, Op: wr.Op, Len: wr.Len, Imm: wr.Imm}, VA: wr.RemoteVA, Len: wr.Len, RKey: wr.RKey, Value: int64(waited)}
	e.send(i, kind)
}

// reportTimer tells when the transport timer will expire, or that it stopped.
func (e *Endpoint) reportTimer(i int, at vtime.Time) {
	e.event = trace.Event{Deadline: at}
	e.send(i, trace.Timer)
}

// ownMemory is the memory as one QP has it, so that a placement is told of the QP whose it is. That need not be the one that is
// being called: a host whose QPs share a receive pipeline hands over whichever packet is next.
type ownMemory struct {
	*memory.Host
	end *Endpoint
	qp  int
}

// Store implements engine.Memory.
func (m *ownMemory) Store(va uint64, data []byte, n int) bool {
	m.end.storing = m.qp
	return m.Host.Store(va, data, n)
}

// memoryOf returns what the engines of connection i are given: when nobody asks for placements, the memory itself.
func (e *Endpoint) memoryOf(i int) engine.Memory {
	if e.memory.Watch == nil {
		return e.memory
	}
	return &ownMemory{e.memory, e, i}
}

// reportStore is the memory's watch: it sees every placement while an engine is being called.
func (e *Endpoint) reportStore(va uint64, data []byte, n int) {
	e.event = trace.Event{VA: va, Len: uint32(n), Sum: crc32.ChecksumIEEE(data)}
	e.send(e.storing, trace.Store)
}

// probe tells the value of something that cannot be seen on the wire.
func (e *Endpoint) probe(i int, name string, value int64) {
	e.event = trace.Event{Name: name, Value: value}
	e.send(i, trace.Probe)
}

// reportVars tells which variables of a QP's engines have changed since the last time: after each input, when the engines
// have taken it. A variable that a fresh engine has at zero is not told until it changes.
func (e *Endpoint) reportVars(i int) {
	q, now := &e.qps[i], e.Vars(i)
	if len(q.vars) != len(now) {
		q.vars = make([]engine.Var, len(now))
	}
	for k, v := range now {
		if v.Value != q.vars[k].Value {
			e.probe(i, v.Name, v.Value)
		}
	}
	copy(q.vars, now)
}

// reportRegions tells which memory a peer may reach, so that a judge can tell a bad key or address from a good one.
func (e *Endpoint) reportRegions() {
	if !e.spec.Reads.Detail {
		return
	}
	for i := range e.qps {
		e.reportRegion(i, Key(e.side, i), Target(i), e.layout.slot*e.layout.slots, engine.AllAccess)
		e.reportRegion(i, ReadOnlyKey(e.side, i), readOnly(i), readOnlyLen, engine.RemoteRead)
		if e.checks.qkey != 0 {
			e.probe(i, "qkey", int64(e.checks.qkey))
		}
	}
	e.reportCodec()
	if e.spec.Reads.Fuzz {
		e.reportFuzz()
	}
}

func (e *Endpoint) reportRegion(i int, rkey uint32, va, n uint64, access engine.Access) {
	e.probe(i, "mr_rkey", int64(rkey))
	e.probe(i, "mr_va", int64(va))
	e.probe(i, "mr_len", int64(n))
	e.probe(i, "mr_access", int64(access))
}
