package diw

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// watch calls the hooks of one check for the sights and events of its half-conversation. A nil hook is not called.
type watch struct {
	*rule.Context
	*model

	sent func(d *datagram) // a datagram has left the source
	// an intact segment has reached the target; m is nil for one that the target must not accept
	came    func(d *datagram, m *message, p *part)
	damaged func(d *datagram)                // a datagram with a wrong CRC reached the target
	back    func(s *rule.Sight)              // a packet left the target
	told    func(e *trace.Event, m *message) // an event of the target, and the message that it concerns, or nil
	tells   func(e *trace.Event)             // an event of the source
	over    func(m *message)                 // a message can get no more segments
	end     func()                           // the trace has ended

	sights, events int // numbers of those that the check has seen
}

// watching makes the check of a rule, which sets the hooks that it needs.
func watching(begin func(w *watch)) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		w := &watch{Context: c, model: c.Shared(scheme, func() any { return newModel(c.Conversation) }).(*model)}
		begin(w)
		return rule.Check{Sight: w.sight, Event: w.event, End: w.finish}
	}
}

// wrong reports a fault of a datagram of the source.
func (w *watch) wrong(d *datagram, format string, args ...any) {
	w.FailAt(d.at, d.record, rule.Requester, fmt.Sprintf(format, args...))
}

// broken reports a fault of the target with a message.
func (w *watch) broken(m *message, at vtime.Time, format string, args ...any) {
	w.FailAt(at, m.parts[0].record, rule.Responder, fmt.Sprintf(format, args...))
}

// lateness is how much later than expected an endpoint may act after a wait longer than its turn.
const lateness = 5 * rule.HostPatience

// hadTimeFrom reports whether the target has had time to act on a packet that arrived then.
func (w *watch) hadTimeFrom(then vtime.Time) bool { return w.Now().Sub(then) >= rule.HostPatience }

// works reports whether the target is also a source of messages.
func (w *watch) works() bool { return w.posts[w.Req.Other()] > 0 }

func (w *watch) sight(s *rule.Sight) {
	if s.Pkt.Opcode != roce.UDP {
		return
	}
	if w.sights++; w.sights > w.model.sights {
		w.model.sights++
		w.model.sight(s)
	}
	now := &w.now
	w.closing(now.closed)
	switch d := now.came; {
	case now.sent != nil:
		if w.sent != nil {
			w.sent(now.sent)
		}
	case s.Point == trace.ResponderOut && w.back != nil:
		w.back(s)
	case d == nil:
	case d.damaged():
		if w.damaged != nil {
			w.damaged(d)
		}
	case d.err == nil && w.came != nil:
		w.came(d, now.m, now.p)
	}
}

// closing passes closed messages to the hook over.
func (w *watch) closing(list []*message) {
	for _, m := range list {
		if w.over != nil {
			w.over(m)
		}
	}
}

func (w *watch) event(e *trace.Event) {
	if w.events++; w.events > w.model.events {
		w.model.events++
		w.model.event(e)
	}
	switch {
	case w.Mine(e) && w.tells != nil:
		w.tells(e)
	case !w.Mine(e) && w.told != nil:
		w.told(e, w.now.m)
	}
}

func (w *watch) finish(vtime.Time) {
	w.closing(w.order)
	if w.end != nil {
		w.end()
	}
}
