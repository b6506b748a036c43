package rciwarp

import (
	"bytes"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/mpa"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/stream"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/tcp"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/rciwarp"
)

// end is one end of a QP that completes receives too early, or places data too late. Both halves share it, as they
// share a connection.
type end struct {
	engine.Memory
	early, lazy bool
	peer        stream.Conn    // the received stream, in direction 0
	posted      []uint64       // receives that have not completed, oldest first
	ahead       int            // receives completed too early whose real completion has not come
	events      []engine.Event // completions of the variant
	late        []store        // placements held back
	told        bool           // a receive has completed since the last placement
}

// store is a placement that is held back.
type store struct {
	va   uint64
	data []byte
	n    int
}

// newEnd returns the correct engine in a shell.
func newEnd(qp engine.QP, mem engine.Memory, r *recipe) (engine.Requester, engine.Responder, error) {
	e := &end{Memory: mem, early: r.early, lazy: r.lazy}
	req, resp, err := new(rciwarp.Host).New(qp, e)
	if err != nil {
		return nil, nil, err
	}
	return &requester{half{req, e}, req}, &responder{half{resp, e}, resp}, nil
}

// Store implements engine.Memory.
func (e *end) Store(va uint64, data []byte, n int) bool {
	if !e.lazy {
		return e.Memory.Store(va, data, n)
	}
	e.late = append(e.late, store{va, bytes.Clone(data), n})
	return true
}

// place executes the placements that were held back, once a receive has completed.
func (e *end) place() {
	if !e.told {
		return
	}
	for _, s := range e.late {
		e.Memory.Store(s.va, s.data, s.n)
	}
	e.late, e.told = nil, false
}

// look completes a receive when a SEND arrives after a hole in the stream.
func (e *end) look(p *roce.Packet) {
	a, ok := e.peer.Add(0, p.Payload)
	if !e.early || !ok || !a.Ahead || a.Again || e.ahead == len(e.posted) {
		return
	}
	var d mpa.Deframer
	var seg iwarp.Segment
	_, data, _ := tcp.Decode(p.Payload) // decoded before
	if f, _, _ := d.Next(data); f != nil && seg.Decode(f.ULPDU) == nil && seg.Opcode.IsSend() && seg.Last {
		e.events = append(e.events, engine.Event{Kind: engine.ReceiveCQE, Op: engine.OpSend, ID: e.posted[e.ahead],
			Len: seg.MO + uint32(len(seg.Payload))})
		e.ahead++
	}
}

// half is one half of the end in its shell.
type half struct {
	engine.Engine
	end *end
}

// HandlePacket implements engine.Engine.
func (h *half) HandlePacket(now vtime.Time, p *roce.Packet) {
	h.end.place()
	h.end.look(p)
	h.Engine.HandlePacket(now, p)
}

// PollTransmit implements engine.Engine.
func (h *half) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	h.end.place()
	return h.Engine.PollTransmit(now, p)
}

// PollEvent implements engine.Engine. The real completion of a receive that was completed too early is dropped.
func (h *half) PollEvent() (engine.Event, bool) {
	e := h.end
	if len(e.events) > 0 {
		ev := e.events[0]
		e.events = e.events[1:]
		return ev, true
	}
	for {
		ev, ok := h.Engine.PollEvent()
		if !ok || ev.Kind != engine.ReceiveCQE || len(e.posted) == 0 {
			return ev, ok
		}
		e.posted, e.told = e.posted[1:], true
		if e.ahead == 0 {
			return ev, ok
		}
		e.ahead--
	}
}

// requester adds the method of engine.Requester.
type requester struct {
	half
	inner engine.Requester
}

// Post implements engine.Requester.
func (r *requester) Post(now vtime.Time, wr engine.WorkRequest) error { return r.inner.Post(now, wr) }

// responder adds the method of engine.Responder.
type responder struct {
	half
	inner engine.Responder
}

// PostReceive implements engine.Responder.
func (r *responder) PostReceive(now vtime.Time, rr engine.ReceiveRequest) error {
	err := r.inner.PostReceive(now, rr)
	if err == nil {
		r.end.posted = append(r.end.posted, rr.ID)
	}
	return err
}
