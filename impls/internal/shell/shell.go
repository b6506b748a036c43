// Package shell wraps the engines of a QP in shells that alter, drop, repeat or forge packets, or report wrong
// variables. The engine itself is unchanged. Engines that are wrong on purpose (impls/broken) are made this way.
package shell

import (
	"maps"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// End is one end of a QP, its memory and both halves in shells, for which a variant sets the hooks.
type End struct {
	QP        engine.QP // the attributes that both ends agreed on
	Mem       *Memory
	Req, Resp *Shell
}

// Memory is a memory with a hook that may change stored data.
type Memory struct {
	engine.Memory
	Change func(data []byte) []byte // returns the data to be stored instead; nil changes nothing
}

// Store implements engine.Memory.
func (m *Memory) Store(va uint64, data []byte, n int) bool {
	if m.Change != nil {
		data = m.Change(data)
	}
	return m.Memory.Store(va, data, n)
}

// Around returns an implementation whose ends are those of right in shells, with params in place of the same parameters
// of the run. Tamper, if not nil, sets the hooks of each end.
func Around(right engine.Implementation, params engine.Params, tamper func(*End)) engine.Implementation {
	impl := right
	newHost := func(given engine.Params) (engine.Host, error) {
		h, err := right.Host(with(given, params))
		if err != nil {
			return nil, err
		}
		return &host{h, params, tamper}, nil
	}
	impl.NewHost = newHost
	impl.New = func(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
		h, err := newHost(qp.Params)
		if err != nil {
			return nil, nil, err
		}
		return h.New(qp, mem)
	}
	return impl
}

// with returns the given parameters, overridden by those of instead.
func with(given, instead engine.Params) engine.Params {
	all := engine.Params{}
	maps.Copy(all, given)
	maps.Copy(all, instead)
	return all
}

// host wraps the engines that a correct host returns.
type host struct {
	inner  engine.Host
	params engine.Params
	tamper func(*End)
}

// New implements engine.Host.
func (h *host) New(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
	own := qp
	own.Params = with(qp.Params, h.params)
	e := End{QP: qp, Mem: &Memory{Memory: mem}}
	req, resp, err := h.inner.New(own, e.Mem)
	if err != nil {
		return nil, nil, err
	}
	e.Req, e.Resp = &Shell{inner: req}, &Shell{inner: resp}
	if h.tamper != nil {
		h.tamper(&e)
	}
	return requester{e.Req}, responder{e.Resp}, nil
}

// Shell is a wrapper between an engine and its driver. A hook that returns false drops the packet or event that it was
// called with; a nil hook drops nothing.
type Shell struct {
	inner   engine.Engine
	In, Out func(p *roce.Packet) bool      // called for arriving and for outgoing packets
	Event   func(ev *engine.Event) bool    // called for the engine's events
	Receive func(rr engine.ReceiveRequest) // called for posted receives
	Report  func(v Vars)                   // called with the engine's variables, which it may change
	packets []roce.Packet                  // packets of the variant, sent before those of the engine
	events  []engine.Event                 // events of the variant, reported before those of the engine
}

// Send queues a packet of the variant. It copies the payload of p, which may belong to the engine.
func (s *Shell) Send(p roce.Packet) {
	p.Payload = slices.Clone(p.Payload)
	s.packets = append(s.packets, p)
}

// Tell queues an event of the variant.
func (s *Shell) Tell(ev engine.Event) { s.events = append(s.events, ev) }

// HandlePacket implements engine.Engine. The hook gets a copy, because the packet belongs to the driver.
func (s *Shell) HandlePacket(now vtime.Time, p *roce.Packet) {
	seen := *p
	if s.In == nil || s.In(&seen) {
		s.inner.HandlePacket(now, &seen)
	}
}

// HandleTimer implements engine.Engine.
func (s *Shell) HandleTimer(now vtime.Time) { s.inner.HandleTimer(now) }

// PollTransmit implements engine.Engine.
func (s *Shell) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	for {
		if len(s.packets) > 0 {
			*p = s.packets[0]
			s.packets = s.packets[1:]
			return true
		}
		if !s.inner.PollTransmit(now, p) {
			return len(s.packets) > 0 && s.PollTransmit(now, p)
		}
		if s.Out == nil || s.Out(p) {
			return true
		}
	}
}

// PollEvent implements engine.Engine.
func (s *Shell) PollEvent() (engine.Event, bool) {
	if len(s.events) > 0 {
		ev := s.events[0]
		s.events = s.events[1:]
		return ev, true
	}
	for {
		ev, ok := s.inner.PollEvent()
		if !ok || s.Event == nil || s.Event(&ev) {
			return ev, ok
		}
	}
}

// PollTimer implements engine.Engine.
func (s *Shell) PollTimer() (vtime.Time, bool) { return s.inner.PollTimer() }

// Flush implements engine.Engine.
func (s *Shell) Flush(now vtime.Time) { s.inner.Flush(now) }

// Vars implements engine.Inspector: the engine's variables, as changed by the Report hook.
func (s *Shell) Vars(list []engine.Var) []engine.Var {
	in, ok := s.inner.(engine.Inspector)
	if !ok {
		return list
	}
	before := len(list)
	list = in.Vars(list)
	if s.Report != nil {
		s.Report(list[before:])
	}
	return list
}

// Vars finds variables by name.
type Vars []engine.Var

// At returns a pointer to the value of a variable, for reading and changing, or a pointer to a discarded zero if there
// is no variable of that name.
func (v Vars) At(name string) *int64 {
	for i := range v {
		if v[i].Name == name {
			return &v[i].Value
		}
	}
	return new(int64)
}

// requester and responder add to a shell the method of engine.Requester and of engine.Responder.
type (
	requester struct{ *Shell }
	responder struct{ *Shell }
)

// Post implements engine.Requester.
func (r requester) Post(now vtime.Time, wr engine.WorkRequest) error {
	return r.inner.(engine.Requester).Post(now, wr)
}

// PostReceive implements engine.Responder.
func (r responder) PostReceive(now vtime.Time, rr engine.ReceiveRequest) error {
	if r.Receive != nil {
		r.Receive(rr)
	}
	return r.inner.(engine.Responder).PostReceive(now, rr)
}
