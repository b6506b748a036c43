package diw

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var noReceiveTaken = define(rule.Rule{
	ID: "WREC-ONE-001", Level: rule.MustNot,
	Title: "A Write-Record consumes no posted receive",
	Source: paper("IV-B3",
		"Our proposed solution does not require a posted receive whatsoever, making it a truly one-sided operation."),
	Needs: rule.TapResponder | rule.Completions, Stimulus: "a Write-Record",
	New: watching(func(w *watch) {
		sends, taken := 0, 0 // numbers of segments of SENDs that arrived, and of receives that completed
		w.came = func(d *datagram, m *message, _ *part) {
			if m != nil && m.record {
				w.Met()
			} else if d.Segment.Opcode.IsSend() {
				sends++
			}
		}
		w.told = func(e *trace.Event, _ *message) {
			if !received(e) {
				return
			}
			if taken++; taken > sends {
				w.Failf(rule.Responder, "receive %d completes, but no SEND has arrived for it", e.Body.ID)
			}
		}
	}),
})

var oneEntry = define(rule.Rule{
	ID: "WREC-ONE-002", Level: rule.Must,
	Title: "A message of one datagram gives exactly one completion entry, or a map with one interval",
	Source: paper("IV-B3", "For messages of a size less than or equal to the Maximum Transfer Unit (MTU) of the LLP, "+
		"this notification is very simple, comprising only a single completion entry or single entry validity map."),
	Needs: rule.TapResponder | rule.Completions, Stimulus: "a message of one datagram",
	New: watching(func(w *watch) {
		w.over = func(m *message) {
			if !m.record || !m.owed() || m.parts[0].len != m.length || !m.parts[0].last || !w.hadTimeFrom(m.first) {
				return
			}
			if w.Met(); m.entries != 1 || !m.declared.covers(0, m.length) {
				w.broken(m, m.first, "%v of one datagram has %d entries, which declare %v", m, m.entries, m.declared)
			}
		}
	}),
})

var placedOnArrival = define(rule.Rule{
	ID: "WREC-PLC-001", Level: rule.Must,
	Title: "Each segment is placed when it arrives, at the address that it names, in any order",
	Source: paper("VI-A2",
		"Segments (64K) are placed in memory as they arrive and their reception and location is recorded."),
	Needs: rule.TapResponder | rule.Stores, Stimulus: "segments that overtake each other",
	New: watching(func(w *watch) {
		w.came = func(_ *datagram, m *message, p *part) {
			if p != nil && m.record && p.jumped {
				w.Met()
			}
		}
		w.told = func(e *trace.Event, m *message) {
			if e.Kind == trace.Store && m != nil && m.record && e.At.Sub(w.now.p.at) > lateness {
				w.Failf(rule.Responder, "%v: bytes %v are placed long after they arrived", m, spans{m.chunk(e)})
			}
		}
		w.over = func(m *message) {
			for i := range m.parts {
				if p := &m.parts[i]; m.record && p.fresh && p.len > 0 && !p.stored && w.Now().Sub(p.at) >= lateness {
					w.FailAt(p.at, p.record, rule.Responder, m.String()+": bytes "+p.bytes().String()+" are not placed as sent")
				}
			}
		}
	}),
})

var checkedFirst = define(rule.Rule{
	ID: "WREC-PLC-002", Level: rule.Must,
	Title: "Steering tag, bounds and rights are checked before placement; a violation is dropped and " +
		"reported, and the QP keeps working",
	Source: paper("II", "The receiving machine enforces the requirement that the requested memory location must be "+
		"registered with the device as a valid memory region before placing the data."),
	Needs:    rule.TapResponder | rule.Stores | rule.Probes | rule.Completions,
	Stimulus: "a segment that violates its memory region",
	New: watching(func(w *watch) {
		due, reported := 0, 0     // numbers of such segments that arrived, and that the target reported
		where := map[uint64]int{} // lengths of segments that must not be placed, by address
		w.came = func(d *datagram, m *message, _ *part) {
			s := &d.Segment
			if m == nil && s.Tagged && w.memory.Known() && !permits(&w.memory, s.STag, s.TO, uint32(len(s.Payload))) {
				if valid(s) && s.Opcode == iwarp.WriteRecord { // others are refused before their tag is looked at
					w.Met()
					due++
				}
				where[s.TO] = len(s.Payload)
			}
		}
		w.told = func(e *trace.Event, m *message) {
			switch {
			case e.Kind == trace.Refused && e.Body.Status == engine.StatusRemoteAccess:
				reported++
			case e.Kind == trace.Store && m == nil && where[e.VA] == int(e.Len) && e.Len > 0:
				w.Failf(rule.Responder, "places %d bytes at %#x, which the steering tag does not allow", e.Len, e.VA)
			case e.Kind == trace.Fatal && due > 0:
				w.Failf(rule.Responder, "the QP fails; it must keep working")
			}
		}
		w.end = func() {
			if reported < due {
				w.Failf(rule.Responder, "reports %d of %d segments that violate their memory region", reported, due)
			}
		}
	}),
})

var neverAnswers = define(rule.Rule{
	ID: "WREC-SRC-002", Level: rule.MustNot,
	Title: "The target sends no packet in response",
	Source: paper("IV-B3", "unlike a traditional RC RDMA Write operation, no further communication is required "+
		"between the source and target"),
	Needs: rule.TapResponder | rule.Completions, Stimulus: "every operation and length",
	New: watching(func(w *watch) {
		came := false
		w.came = func(d *datagram, _ *message, _ *part) {
			if came = came || d.Segment.Tagged; came {
				w.Met()
			}
		}
		w.back = func(s *rule.Sight) {
			if came && !w.works() {
				w.FailAt(s.At, s.Index, rule.Responder, "sends a packet, but has no work of its own; silence expected")
			}
		}
	}),
})

var neverMixed = define(rule.Rule{
	ID: "WREC-ID-001", Level: rule.Must,
	Title: "Two open messages, of one source or several, never mix in one map",
	Source: paper("IV-B3",
		"RDMA Write-Record must log at the target side what data has been written to memory and is valid."),
	Needs: rule.TapResponder | rule.Completions, Stimulus: "two senders, one STag",
	New: watching(func(w *watch) {
		var under *message // message of the latest segment
		both := false      // another message began before it had ended
		w.came = func(_ *datagram, m *message, _ *part) {
			if m == nil || !m.record {
				return
			}
			if both = both || under != nil && under != m && under.last == vtime.Never; both {
				w.Met()
			}
			under = m
		}
		w.told = func(e *trace.Event, m *message) {
			if !both || e.Kind != trace.Declared {
				return
			}
			if m == nil {
				w.Failf(rule.Responder, "declares message %d, of which nothing has arrived", e.Body.ID)
			} else if x := m.chunk(e); !m.arrived.covers(x.from, x.to) {
				w.Failf(rule.Responder, "%v declares %v, but %v arrived", m, spans{x}, m.arrived)
			}
		}
	}),
})

var logBounded = define(rule.Rule{
	ID: "WREC-ID-002", Level: rule.Must,
	Title: "The log is bounded, and a message that is never declared leaves it after t_rec",
	Source: paper("IV-A", "When utilizing OS bypass, such memory savings are important, as state information needs "+
		"to be held in memory on the RNIC"),
	Needs: rule.TapResponder | rule.Completions | rule.Probes, Stimulus: "a lost last segment",
	New: watching(func(w *watch) {
		open, ended := 0, int64(0) // numbers of messages that were never declared, and of others
		w.over = func(m *message) {
			if m.record && m.last == vtime.Never && w.Now().Sub(m.first) >= w.rec+rule.HostPatience {
				open++
				w.Met()
			} else {
				ended++
			}
		}
		w.end = func() {
			if kept := w.probes["messages"]; open > 0 && w.Alone && kept > ended {
				w.Failf(rule.Responder, "%d messages are remembered; %d at most expected", kept, ended)
			}
		}
	}),
})
