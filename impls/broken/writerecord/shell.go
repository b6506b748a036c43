package writerecord

import (
	"errors"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// hooks change the behaviour of a correct engine. A hook that returns false drops the datagram, event or receive that
// it was called with; a nil hook drops nothing.
type hooks struct {
	send    func(e *end, d *iwarp.Datagram) bool // a datagram of the source, which is then encoded again, with its CRC
	raw     func(b []byte) []byte                // the encoded datagram, from the UDP header on
	arrive  func(e *end, d *iwarp.Datagram) bool // a datagram for the target, which is then encoded again, with its CRC
	event   func(e *end, ev *engine.Event) bool  // an event of either half
	receive func(e *end, rr *engine.ReceiveRequest) bool
	vars    func(e *end, v *engine.Var)
	store   func(va *uint64, data []byte) []byte
	permit  bool // Permit allows every access
}

// end is one end of a QP behind hooks, with the state of a variant.
type end struct {
	hooks
	engine.Memory
	qp       engine.QP
	source   engine.Requester
	target   engine.Responder
	packets  [][]byte // datagrams of the variant, sent by the source
	answers  [][]byte // datagrams of the variant, sent by the target
	events   []engine.Event
	count    int
	last     engine.Event
	held     []engine.ReceiveRequest
	seen     map[uint64]int
	next     map[uint32]uint32
	most     int64
	datagram []byte
}

// Permit implements engine.Memory.
func (e *end) Permit(pd, rkey uint32, va uint64, n uint32, want engine.Access) bool {
	return e.permit || e.Memory.Permit(pd, rkey, va, n, want)
}

// Store implements engine.Memory.
func (e *end) Store(va uint64, data []byte, n int) bool {
	if e.store != nil {
		data = e.store(&va, append([]byte(nil), data...))
	}
	return e.Memory.Store(va, data, n)
}

// half is one half of an end.
type half struct {
	engine.Engine
	*end
	packets *[][]byte
}

// source and target are the two halves, as a driver sees them.
type (
	source struct{ half }
	target struct{ half }
)

// Post implements engine.Requester.
func (s *source) Post(now vtime.Time, wr engine.WorkRequest) error { return s.end.source.Post(now, wr) }

// PostReceive implements engine.Responder.
func (t *target) PostReceive(now vtime.Time, rr engine.ReceiveRequest) error {
	if t.receive != nil && !t.receive(t.end, &rr) {
		return nil
	}
	err := t.end.target.PostReceive(now, rr)
	for _, held := range t.held {
		_ = t.end.target.PostReceive(now, held) // receives that the hook dropped
	}
	t.held = t.held[:0]
	return err
}

// HandlePacket implements engine.Engine.
func (h *half) HandlePacket(now vtime.Time, p *roce.Packet) {
	var d iwarp.Datagram
	if h.arrive == nil || p.Opcode != roce.UDP {
		h.Engine.HandlePacket(now, p)
		return
	}
	if err := d.Decode(p.Payload); err != nil && !errors.Is(err, iwarp.ErrCRC) {
		return
	}
	if h.arrive(h.end, &d) {
		again := *p
		again.Payload = iwarp.AppendDatagram(nil, d.Src, d.Dst, &d.Segment)
		again.Len = len(again.Payload)
		h.Engine.HandlePacket(now, &again)
	}
}

// PollTransmit implements engine.Engine.
func (h *half) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	for len(*h.packets) == 0 {
		if !h.Engine.PollTransmit(now, p) {
			return false
		}
		if h.tamper(p) {
			return true
		}
	}
	*p = roce.Packet{Payload: (*h.packets)[0], Len: len((*h.packets)[0])}
	p.Opcode = roce.UDP
	*h.packets = (*h.packets)[1:]
	return true
}

// tamper calls the hooks with an outgoing datagram.
func (h *half) tamper(p *roce.Packet) bool {
	if h.send != nil {
		var d iwarp.Datagram
		if d.Decode(p.Payload) != nil || !h.send(h.end, &d) {
			return false
		}
		h.datagram = iwarp.AppendDatagram(h.datagram[:0], d.Src, d.Dst, &d.Segment)
		p.Payload = h.datagram
	}
	if h.raw != nil {
		p.Payload = h.raw(append([]byte(nil), p.Payload...))
	}
	p.Len = len(p.Payload)
	return true
}

// PollEvent implements engine.Engine.
func (h *half) PollEvent() (engine.Event, bool) {
	for {
		if len(h.events) > 0 {
			ev := h.events[0]
			h.events = h.events[1:]
			return ev, true
		}
		ev, ok := h.Engine.PollEvent()
		if !ok {
			return ev, false
		}
		if h.hooks.event == nil || h.hooks.event(h.end, &ev) {
			return ev, true
		}
	}
}

// Vars implements engine.Inspector. The hook is called with the variables of the engine.
func (h *half) Vars(list []engine.Var) []engine.Var {
	before := len(list)
	list = h.Engine.(engine.Inspector).Vars(list)
	if h.hooks.vars != nil {
		for i := before; i < len(list); i++ {
			h.hooks.vars(h.end, &list[i])
		}
	}
	return list
}

// host wraps the ends of a correct host in hooks.
type host struct {
	engine.Host
	make func() hooks
}

// New implements engine.Host.
func (h *host) New(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
	e := &end{hooks: h.make(), Memory: mem, qp: qp, seen: map[uint64]int{}, next: map[uint32]uint32{}}
	req, resp, err := h.Host.New(qp, e)
	if err != nil {
		return nil, nil, err
	}
	e.source, e.target = req, resp
	return &source{half{Engine: req, end: e, packets: &e.packets}},
		&target{half{Engine: resp, end: e, packets: &e.answers}}, nil
}
