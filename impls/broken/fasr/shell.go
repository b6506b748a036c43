package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// end is one end of a QP, both halves behind shells, while a variant sets its hooks.
type end struct {
	qp        engine.QP
	req, resp *shell
}

// shell stands between an engine and its driver. A hook that returns false swallows what it was shown; a nil one lets
// everything pass.
type shell struct {
	inner   engine.Engine
	in, out func(p *roce.Packet) bool
	event   func(ev *engine.Event)
	vars    func(v vars)
	packets []roce.Packet // made up, to be sent before the engine's own
}

// send makes up a packet.
func (s *shell) send(p roce.Packet) { s.packets = append(s.packets, p) }

// HandlePacket implements engine.Engine. The hook works on a copy: the packet is the driver's.
func (s *shell) HandlePacket(now vtime.Time, p *roce.Packet) {
	seen := *p
	if s.in == nil || s.in(&seen) {
		s.inner.HandlePacket(now, &seen)
	}
}

// HandleTimer implements engine.Engine.
func (s *shell) HandleTimer(now vtime.Time) { s.inner.HandleTimer(now) }

// PollTransmit implements engine.Engine.
func (s *shell) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	for {
		if len(s.packets) > 0 {
			*p = s.packets[0]
			s.packets = s.packets[1:]
			return true
		}
		if !s.inner.PollTransmit(now, p) {
			return len(s.packets) > 0 && s.PollTransmit(now, p)
		}
		if s.out == nil || s.out(p) {
			return true
		}
	}
}

// PollEvent implements engine.Engine.
func (s *shell) PollEvent() (engine.Event, bool) {
	ev, ok := s.inner.PollEvent()
	if ok && s.event != nil {
		s.event(&ev)
	}
	return ev, ok
}

// PollTimer implements engine.Engine.
func (s *shell) PollTimer() (vtime.Time, bool) { return s.inner.PollTimer() }

// Flush implements engine.Engine.
func (s *shell) Flush(now vtime.Time) { s.inner.Flush(now) }

// Vars implements engine.Inspector: what the engine says of itself, or what the variant makes of it.
func (s *shell) Vars() []engine.Var {
	in, ok := s.inner.(engine.Inspector)
	if !ok {
		return nil
	}
	v := in.Vars()
	if s.vars != nil {
		s.vars(v)
	}
	return v
}

// vars finds variables by name.
type vars []engine.Var

func (v vars) at(name string) *int64 {
	for i := range v {
		if v[i].Name == name {
			return &v[i].Value
		}
	}
	return new(int64)
}

// requester and responder give the shell of a half the method that its kind has.
type (
	requester struct{ *shell }
	responder struct{ *shell }
)

// Post implements engine.Requester.
func (r requester) Post(now vtime.Time, wr engine.WorkRequest) error {
	return r.inner.(engine.Requester).Post(now, wr)
}

// PostReceive implements engine.Responder.
func (r responder) PostReceive(now vtime.Time, rr engine.ReceiveRequest) error {
	return r.inner.(engine.Responder).PostReceive(now, rr)
}
