package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// end is one end of a QP, both halves in shells, for which a variant sets the hooks.
type end struct {
	qp        engine.QP // the attributes that both ends agreed on
	mem       *host
	req, resp *shell
}

// halves is the constructor in the registry entry of a transport.
type halves = func(engine.QP, engine.Memory) (engine.Requester, engine.Responder, error)

// newEnd builds both halves; attr changes the attributes that each is built with.
func newEnd(build halves, qp engine.QP, mem engine.Memory, attr func(req, resp *engine.QP)) (*end, error) {
	e := &end{qp: qp, mem: &host{Memory: mem}}
	req, resp := qp, qp
	if attr != nil {
		attr(&req, &resp)
	}
	r, _, err := build(req, e.mem)
	if err != nil {
		return nil, err
	}
	_, s, err := build(resp, e.mem)
	if err != nil {
		return nil, err
	}
	e.req, e.resp = newShell(r), newShell(s)
	return e, nil
}

// host is the memory with hooks in place of its methods; a nil hook calls the memory.
type host struct {
	engine.Memory
	permit func(rkey uint32, va uint64, n uint32) bool
	store  func(va uint64, data []byte, n int) bool
}

func (h *host) Permit(pd, rkey uint32, va uint64, n uint32, want engine.Access) bool {
	if h.permit != nil {
		return h.permit(rkey, va, n)
	}
	return h.Memory.Permit(pd, rkey, va, n, want)
}

func (h *host) Store(va uint64, data []byte, n int) bool {
	if h.store != nil {
		return h.store(va, data, n)
	}
	return h.Memory.Store(va, data, n)
}

// shell is a wrapper between an engine and its driver. A hook that returns false drops the packet, event or request
// that it was called with; a nil hook drops nothing.
type shell struct {
	inner engine.Engine
	now   vtime.Time

	in, out func(p *roce.Packet) bool
	event   func(ev *engine.Event) bool
	post    func(wr *engine.WorkRequest) bool
	full    func() bool // if true, Post returns ErrQueueFull
	timer   func(at vtime.Time, ok bool) (vtime.Time, bool)

	packets []roce.Packet  // packets of the variant, sent before those of the engine
	events  []engine.Event // events of the variant, reported before those of the engine
	alarm   vtime.Time     // time of the one call of ring; Never when none is due
	ring    func()
}

func newShell(inner engine.Engine) *shell { return &shell{inner: inner, alarm: vtime.Never} }

// send queues a packet of the variant.
func (s *shell) send(p roce.Packet) { s.packets = append(s.packets, p) }

// report queues an event of the variant.
func (s *shell) report(ev engine.Event) { s.events = append(s.events, ev) }

// after calls ring once, d from now.
func (s *shell) after(d vtime.Duration, ring func()) { s.alarm, s.ring = s.now.Add(d), ring }

// HandlePacket implements engine.Engine. The hook gets a copy, because the packet belongs to the driver.
func (s *shell) HandlePacket(now vtime.Time, p *roce.Packet) {
	s.now = now
	seen := *p
	if s.in == nil || s.in(&seen) {
		s.inner.HandlePacket(now, &seen)
	}
}

// HandleTimer implements engine.Engine.
func (s *shell) HandleTimer(now vtime.Time) {
	s.now = now
	if s.alarm <= now {
		s.alarm = vtime.Never
		s.ring()
	}
	s.inner.HandleTimer(now)
}

// PollTransmit implements engine.Engine.
func (s *shell) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	s.now = now
	if s.pop(p) {
		return true
	}
	for s.inner.PollTransmit(now, p) {
		if s.out == nil || s.out(p) {
			return true
		}
	}
	return s.pop(p)
}

func (s *shell) pop(p *roce.Packet) bool {
	if len(s.packets) == 0 {
		return false
	}
	*p = s.packets[0]
	s.packets = s.packets[1:]
	return true
}

// PollEvent implements engine.Engine.
func (s *shell) PollEvent() (engine.Event, bool) {
	if len(s.events) > 0 {
		ev := s.events[0]
		s.events = s.events[1:]
		return ev, true
	}
	for {
		ev, ok := s.inner.PollEvent()
		if !ok || s.event == nil || s.event(&ev) {
			return ev, ok
		}
		if len(s.events) > 0 {
			return s.PollEvent()
		}
	}
}

// PollTimer implements engine.Engine.
func (s *shell) PollTimer() (vtime.Time, bool) {
	at, ok := s.inner.PollTimer()
	if s.timer != nil {
		at, ok = s.timer(at, ok)
	}
	if s.alarm != vtime.Never && (!ok || s.alarm < at) {
		return s.alarm, true
	}
	return at, ok
}

// Flush implements engine.Engine.
func (s *shell) Flush(now vtime.Time) {
	s.now = now
	s.inner.Flush(now)
}

// Vars implements engine.Inspector.
func (s *shell) Vars(list []engine.Var) []engine.Var {
	if in, ok := s.inner.(engine.Inspector); ok {
		return in.Vars(list)
	}
	return list
}

// requester and responder add to a shell the method of engine.Requester and of engine.Responder.
type (
	requester struct{ *shell }
	responder struct{ *shell }
)

// Post implements engine.Requester.
func (r requester) Post(now vtime.Time, wr engine.WorkRequest) error {
	r.now = now
	if r.full != nil && r.full() {
		return engine.ErrQueueFull
	}
	if r.post != nil && !r.post(&wr) {
		return nil
	}
	return r.inner.(engine.Requester).Post(now, wr)
}

// PostReceive implements engine.Responder.
func (r responder) PostReceive(now vtime.Time, rr engine.ReceiveRequest) error {
	return r.inner.(engine.Responder).PostReceive(now, rr)
}
