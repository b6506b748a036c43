package diw

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// chunk returns the range of a message that a declaration is about.
func (m *message) chunk(e *trace.Event) span {
	off := uint32(e.VA - m.base)
	return span{off, off + e.Len}
}

var mapIsUnion = define(rule.Rule{
	ID: "WREC-LOG-001", Level: rule.Must,
	Title: "The validity map is exactly the union of the bytes that were placed for the message",
	Source: paper("IV-B3",
		"RDMA Write-Record must log at the target side what data has been written to memory and is valid."),
	Needs: rule.TapResponder | rule.Completions, Stimulus: "lost segments inside a message",
	New: watching(func(w *watch) {
		w.over = func(m *message) {
			if !m.record || m.last == vtime.Never || !w.hadTimeFrom(m.latest()) {
				return
			}
			if len(m.arrived) > 1 || !m.arrived.covers(0, m.length) {
				w.Met()
			}
			if !slices.Equal(m.declared, m.arrived) {
				w.broken(m, m.last, "%v declares %v, but %v arrived", m, m.declared, m.arrived)
			}
		}
	}),
})

var mapNoMore = define(rule.Rule{
	ID: "WREC-LOG-002", Level: rule.MustNot,
	Title: "No byte is declared valid that the message has not written",
	Source: paper("IV-B3", "The target application can then request this information "+
		"to determine what data is valid by reading the appropriate completion queue entries."),
	Needs: rule.TapResponder | rule.Completions, Stimulus: "lost segments, and messages that overlap",
	New: watching(func(w *watch) {
		w.told = func(e *trace.Event, m *message) {
			if e.Kind != trace.Declared || m == nil {
				return
			}
			if !m.arrived.covers(0, m.length) {
				w.Met()
			}
			if x := m.chunk(e); !m.arrived.covers(x.from, x.to) {
				w.Failf(rule.Responder, "%v declares %v, but %v arrived", m, spans{x}, m.arrived)
			}
		}
	}),
})

var mapModes = define(rule.Rule{
	ID: "WREC-LOG-003", Level: rule.Must,
	Title: "One entry for each chunk, or one map of all: both describe the same set, each chunk once",
	Source: paper("IV-B3", "These completion queue entries can be designed as either individual entries for each "+
		"logical chunk of data in a message or can be a validity map; essentially an aggregated form of individual "+
		"completion notifications."),
	Needs: rule.TapResponder | rule.Completions | rule.Attributes, Stimulus: "lost segments inside a message",
	New: watching(func(w *watch) {
		aggregate := w.PeerAttr.Params["map"] == "aggregate"
		var open *message // the message whose map is not complete
		w.told = func(e *trace.Event, m *message) {
			if e.Kind != trace.Declared || m == nil {
				return
			}
			switch {
			case e.Body.More && !aggregate:
				w.Failf(rule.Responder, "%v: an entry of its own announces others", m)
			case open != nil && open != m:
				w.Failf(rule.Responder, "the map of %v ends in that of %v", open, m)
			}
			if open = nil; e.Body.More {
				open = m
			}
		}
		w.over = func(m *message) {
			switch {
			case !m.record || m.entries < 2:
			case m.again:
				w.broken(m, m.last, "%v declares bytes twice; once expected", m)
			case m.entries > len(m.parts):
				w.broken(m, m.last, "%v has more entries than segments", m)
			default:
				w.Met()
			}
		}
		w.end = func() {
			if open != nil {
				w.Failf(rule.Responder, "the map of %v announces an entry that does not follow", open)
			}
		}
	}),
})

var onLast = define(rule.Rule{
	ID: "WREC-LAST-001", Level: rule.Must,
	Title: "A message is declared when its last segment arrives",
	Source: paper("VI-A2", "the final packet must arrive for the partial message to be placed into memory and those "+
		"parts that are valid are declared as such"),
	Needs: rule.TapResponder | rule.Completions, Stimulus: "a lost segment",
	New: watching(func(w *watch) {
		early := map[*message]vtime.Time{} // when messages were declared whose last segment had not arrived
		w.told = func(e *trace.Event, m *message) {
			if e.Kind == trace.Declared && m != nil && m.last == vtime.Never && len(early) < keep {
				early[m] = e.At
			}
		}
		w.over = func(m *message) {
			at, hasty := early[m]
			delete(early, m)
			switch {
			case !m.record || len(m.parts) < 2 || !w.hadTimeFrom(m.last):
			case hasty:
				w.broken(m, at, "%v is declared before its last segment has arrived", m)
			case m.entries == 0:
				w.broken(m, m.last, "%v is not declared although its last segment has arrived", m)
			default:
				w.Met()
			}
		}
	}),
})

var lastLost = define(rule.Rule{
	ID: "WREC-LAST-002", Level: rule.Must,
	Title:  "A message whose last segment is lost has no completion entry",
	Source: paper("VI-A2", "Loss of this final packet results in the loss of the entire message."),
	Needs:  rule.TapResponder | rule.Completions, Stimulus: "a lost last segment",
	New: watching(func(w *watch) {
		w.over = func(m *message) {
			if !m.record || m.last != vtime.Never {
				return
			}
			if w.Met(); m.entries > 0 {
				w.broken(m, m.first, "%v is declared, but its last segment never arrived", m)
			}
		}
	}),
})

var lateExtends = define(rule.Rule{
	ID: "WREC-LAST-003", Level: rule.Must,
	Title: "Segments that arrive after the last one extend the declared bytes, and remove none",
	Source: paper("IV-B3",
		"RDMA Write-Record must log at the target side what data has been written to memory and is valid."),
	Needs: rule.TapResponder | rule.Completions, Stimulus: "a last segment that overtakes others",
	New: watching(func(w *watch) {
		w.over = func(m *message) {
			for i := range m.parts {
				p := &m.parts[i]
				if !m.record || !p.late || !p.fresh || p.len == 0 || !w.hadTimeFrom(m.latest()) {
					continue
				}
				if w.Met(); !m.declared.covers(p.off, p.off+p.len) {
					w.FailAt(p.at, p.record, rule.Responder, m.String()+": bytes "+p.bytes().String()+
						" arrived late and were not declared")
				}
			}
		}
	}),
})
