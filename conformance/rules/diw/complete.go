package diw

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var wholeOnly = define(rule.Rule{
	ID: "UDSR-CMP-001", Level: rule.Must,
	Title: "A receive completes only when the whole message has arrived",
	Source: paper("VI-A2", "We can observe that the solution of partial delivery of messages improves performance "+
		"over the required full message delivery used in our send/recv method."),
	Needs: rule.TapResponder | rule.Completions, Stimulus: "a lost segment",
	New: watching(func(w *watch) {
		w.told = func(e *trace.Event, m *message) {
			if received(e) && (m == nil || m.whole == vtime.Never || m.length != e.Body.Len) {
				w.Failf(rule.Responder, "receive %d completes with %d bytes, but no such message has arrived whole",
					e.Body.ID, e.Body.Len)
			}
		}
		w.over = func(m *message) {
			if !m.record && m.whole == vtime.Never {
				w.Met()
			}
		}
	}),
})

// intact returns the fault in the memory of a receive whose message is whole, as reported placements show it; "" for
// none.
func (m *message) intact() string {
	for i := range m.parts {
		if p := &m.parts[i]; p.fresh && p.len > 0 && !p.stored {
			return "bytes " + p.bytes().String() + " were not placed as sent"
		}
	}
	return ""
}

var completionOrder = define(rule.Rule{
	ID: "UDSR-CMP-002", Level: rule.Must,
	Title: "Messages complete in the order in which they become whole, with the right contents",
	Source: paper("IV-B1", "It does not guarantee that the order in which the incoming packets are completed is the "+
		"order in which the send side actually transmitted the data."),
	Needs: rule.TapResponder | rule.Completions | rule.Stores, Stimulus: "segments that overtake each other",
	New: watching(func(w *watch) {
		// number of the newest completed message, and the latest time at which a completed message became whole
		newest, latest := uint32(0), vtime.Time(0)
		w.told = func(e *trace.Event, m *message) {
			if !received(e) || m == nil || m.whole == vtime.Never || !m.matched {
				return
			}
			if m.number < newest {
				w.Met()
			}
			if why := m.intact(); why != "" {
				w.Failf(rule.Responder, "%v completes, but %s", m, why)
			}
			if m.whole < latest {
				w.Failf(rule.Responder, "%v completes after a message that became whole later", m)
			}
			newest, latest = max(newest, m.number), max(latest, m.whole)
		}
	}),
})

var reassembles = define(rule.Rule{
	ID: "UDSR-CMP-003", Level: rule.Must,
	Title: "Segments of one message that arrive out of order are reassembled",
	Source: rule.Source{Ref: "RFC 5041 5.2",
		Requirement: "MO says where in the message a segment lies, and the sink places it there"},
	Needs: rule.TapResponder | rule.Completions | rule.Stores, Stimulus: "segments that overtake each other",
	New: watching(func(w *watch) {
		w.over = func(m *message) {
			if m.record || !m.owed() || !w.inTime(m) || !m.shuffled() || !w.hadTimeFrom(m.whole) {
				return
			}
			w.Met()
			why := m.intact()
			if !m.ended {
				why = "its receive does not complete"
			}
			if why != "" {
				w.broken(m, m.whole, "%v arrived whole and out of order, but %s", m, why)
			}
		}
	}),
})

// shuffled reports whether a segment arrived after one behind it in the message.
func (m *message) shuffled() bool {
	for i := 1; i < len(m.parts); i++ {
		if m.parts[i].off < m.parts[i-1].off && m.parts[i].fresh {
			return true
		}
	}
	return false
}

var copiesHarmless = define(rule.Rule{
	ID: "UDSR-CMP-004", Level: rule.Must,
	Title:  "A copy of a segment neither completes a receive again nor changes placed bytes",
	Source: paper("IV-B1", "the applications must be able to handle out of order data"),
	Needs:  rule.TapResponder | rule.Completions | rule.Stores, Stimulus: "a segment that arrives twice",
	New: watching(func(w *watch) {
		copies := false
		w.came = func(_ *datagram, m *message, p *part) {
			if p != nil && !m.record && !p.fresh && p.len > 0 {
				copies = true
				w.Met()
			}
		}
		w.told = func(e *trace.Event, m *message) {
			if copies && received(e) && m == nil {
				w.Failf(rule.Responder, "receive %d completes, but every whole message has completed already", e.Body.ID)
			}
		}
	}),
})

var givenUp = define(rule.Rule{
	ID: "UDSR-TMO-001", Level: rule.Must,
	Title: "A message that stays incomplete releases its receive after t_reasm, is reported as " +
		"lost, and leaves the QP working",
	Source: paper("IV-B4", "Typically, in the event of packet loss while sending large multi-packet "+
		"datagram messages, the entire message must be discarded."),
	Needs: rule.TapResponder | rule.Completions, Stimulus: "a lost segment",
	New: watching(func(w *watch) {
		failed := func(e *trace.Event, who rule.Blame) {
			if e.Kind == trace.Fatal {
				w.Failf(who, "the QP fails; it must keep working")
			}
		}
		w.tells = func(e *trace.Event) { failed(e, rule.Requester) }
		w.told = func(e *trace.Event, m *message) {
			failed(e, rule.Responder)
			if e.Kind != trace.Lost || m == nil || !m.matched { // which SEND took the receive has to be known
				return
			}
			switch took := e.At.Sub(m.first); {
			case took < w.reasm-rule.HostPatience:
				w.Failf(rule.Responder, "%v is given up after %s", m, took.Short())
			case took > w.reasm+lateness:
				w.Failf(rule.Responder, "%v is given up only after %s", m, took.Short())
			}
		}
		w.over = func(m *message) {
			switch {
			case m.record || m.whole != vtime.Never || !m.owed() && !m.ended:
			case m.ended:
				w.Met()
			case w.Now().Sub(m.first) >= w.reasm+lateness:
				w.broken(m, m.first, "%v never became whole and is not given up", m)
			}
		}
	}),
})
