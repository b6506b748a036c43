package diw

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// declares reports a declaration of the target's.
func declares(c *rule.Context, e *trace.Event) bool { return e.Kind == trace.Declared && !c.Mine(e) }

// chunk is the part of a message that a declaration is about.
func (m *message) chunk(e *trace.Event) span {
	off := uint32(e.VA - m.base)
	return span{off, off + e.Len}
}

var noReceiveTaken = define(rule.Rule{
	ID: "WREC-ONE-001", Level: rule.MustNot,
	Title:  "A Write-Record consumes no posted receive",
	Source: paper("IV-B3", "Our proposed solution does not require a posted receive whatsoever, making it a truly one-sided operation."),
	Needs:  rule.TapResponder | rule.Completions, Stimulus: "a Write-Record",
	New: func(c *rule.Context) rule.Check {
		sends, taken := 0, 0
		w := watch{c: c, came: func(d *datagram, m *message, _ *part) {
			if m != nil && m.record {
				c.Met()
			} else if d.Segment.Opcode == iwarp.Send {
				sends++
			}
		}, told: func(e *trace.Event, _ *message) {
			if received(c, e) {
				if taken++; taken > sends {
					c.Failf(rule.Responder, "receive %d completes, and no SEND has arrived for it", e.Body.ID)
				}
			}
		}}
		return w.check()
	},
})

var oneEntry = define(rule.Rule{
	ID: "WREC-ONE-002", Level: rule.Must,
	Title: "A message of one datagram gives exactly one completion entry, or a map with one interval",
	Source: paper("IV-B3", "For messages of a size less than or equal to the Maximum Transfer Unit (MTU) of the LLP, this "+
		"notification is very simple, comprising only a single completion entry or single entry validity map."),
	Needs: rule.TapResponder | rule.Completions, Stimulus: "a message of one datagram",
	New: func(c *rule.Context) rule.Check {
		w := watch{c: c, over: func(m *message) {
			if !m.record || m.parts[0].len != m.length || !m.parts[0].last || c.Now().Sub(m.first) < reaction {
				return
			}
			c.Met()
			if m.entries != 1 || !m.declared.covers(0, m.length) {
				c.FailAt(m.first, m.parts[0].record, rule.Responder, m.name()+" of one datagram has "+decimal(uint64(m.entries))+
					" entries, which declare "+m.declared.String())
			}
		}}
		return w.check()
	},
})

var placedOnArrival = define(rule.Rule{
	ID: "WREC-PLC-001", Level: rule.Must,
	Title:  "Each segment is placed when it arrives, at the address that it names, in any order",
	Source: paper("VI-A2", "Segments (64K) are placed in memory as they arrive and their reception and location is recorded."),
	Needs:  rule.TapResponder | rule.Stores, Stimulus: "segments that overtake each other",
	New: func(c *rule.Context) rule.Check {
		w := watch{c: c, came: func(_ *datagram, m *message, p *part) {
			if p != nil && m.record && p.jumped {
				c.Met()
			}
		}, told: func(e *trace.Event, m *message) {
			if e.Kind != trace.Store || m == nil || !m.record {
				return
			}
			for i := range m.parts {
				if p := &m.parts[i]; p.stored && m.base+uint64(p.off) == e.VA && e.At.Sub(p.at) > 5*reaction {
					c.Failf(rule.Responder, "%s: bytes %s are placed long after they arrived", m.name(), spans{m.chunk(e)})
				}
			}
		}, over: func(m *message) {
			for i := range m.parts {
				if p := &m.parts[i]; m.record && p.fresh && p.len > 0 && !p.stored && c.Now().Sub(p.at) >= 5*reaction {
					c.FailAt(p.at, p.record, rule.Responder, m.name()+": bytes "+spans{{p.off, p.off + p.len}}.String()+" are not placed as sent")
				}
			}
		}}
		return w.check()
	},
})

var checkedFirst = define(rule.Rule{
	ID: "WREC-PLC-002", Level: rule.Must,
	Title: "Steering tag, bounds and rights are checked before placement; a violation is dropped and reported, and the QP goes on",
	Source: paper("II", "The receiving machine enforces the requirement that the requested memory location must be registered with "+
		"the device as a valid memory region before placing the data."),
	Needs: rule.TapResponder | rule.Stores | rule.Probes | rule.Completions, Stimulus: "a segment that reaches where it may not",
	New: func(c *rule.Context) rule.Check {
		due, told := 0, 0
		where := map[uint64]int{} // bytes that must not be placed, by address
		w := watch{c: c}
		w.came = func(d *datagram, m *message, _ *part) {
			s := &d.Segment
			if m == nil && s.Tagged && w.memory.Known() && !permits(&w.memory, s.STag, s.TO, uint32(len(s.Payload))) {
				c.Met()
				due++
				where[s.TO] = len(s.Payload)
			}
		}
		w.told = func(e *trace.Event, m *message) {
			switch {
			case c.Mine(e):
			case e.Kind == trace.Refused && e.Body.Status == engine.StatusRemoteAccess:
				told++
			case e.Kind == trace.Store && m == nil && where[e.VA] == int(e.Len) && e.Len > 0:
				c.Failf(rule.Responder, "places %d bytes at %#x, where the steering tag does not reach", e.Len, e.VA)
			case e.Kind == trace.Fatal && due > 0:
				c.Failf(rule.Responder, "the QP fails; it is expected to go on")
			}
		}
		w.end = func() {
			if told < due {
				c.Failf(rule.Responder, "reports %d of %d segments that reach where they may not", told, due)
			}
		}
		return w.check()
	},
})

var mapIsUnion = define(rule.Rule{
	ID: "WREC-LOG-001", Level: rule.Must,
	Title:  "The validity map is exactly the union of the bytes that were placed for the message",
	Source: paper("IV-B3", "RDMA Write-Record must log at the target side what data has been written to memory and is valid."),
	Needs:  rule.TapResponder | rule.Completions, Stimulus: "lost segments inside a message",
	New: func(c *rule.Context) rule.Check {
		w := watch{c: c, over: func(m *message) {
			if !m.record || m.last == vtime.Never || c.Now().Sub(m.parts[len(m.parts)-1].at) < reaction {
				return
			}
			if len(m.arrived) > 1 || !m.arrived.covers(0, m.length) {
				c.Met()
			}
			if !m.declared.equal(m.arrived) {
				c.FailAt(m.last, m.parts[0].record, rule.Responder, m.name()+" declares "+m.declared.String()+", and what arrived is "+m.arrived.String())
			}
		}}
		return w.check()
	},
})

var mapNoMore = define(rule.Rule{
	ID: "WREC-LOG-002", Level: rule.MustNot,
	Title: "No byte is declared valid that the message has not written",
	Source: paper("IV-B3", "The target application can then request this information to determine what data is valid by reading the "+
		"appropriate completion queue entries."),
	Needs: rule.TapResponder | rule.Completions, Stimulus: "lost segments, and messages that overlap",
	New: func(c *rule.Context) rule.Check {
		w := watch{c: c, told: func(e *trace.Event, m *message) {
			if !declares(c, e) || m == nil {
				return
			}
			if !m.arrived.covers(0, m.length) {
				c.Met()
			}
			if x := m.chunk(e); !m.arrived.covers(x.from, x.to) {
				c.Failf(rule.Responder, "%s declares %s, and what arrived is %s", m.name(), spans{x}, m.arrived)
			}
		}}
		return w.check()
	},
})

var mapModes = define(rule.Rule{
	ID: "WREC-LOG-003", Level: rule.Must,
	Title: "One entry for each chunk, or one map of all: both describe the same set, each chunk once",
	Source: paper("IV-B3", "These completion queue entries can be designed as either individual entries for each logical chunk of data "+
		"in a message or can be a validity map; essentially an aggregated form of individual completion notifications."),
	Needs: rule.TapResponder | rule.Completions | rule.Attributes, Stimulus: "lost segments inside a message",
	New: func(c *rule.Context) rule.Check {
		aggregate := c.PeerAttr.Params["map"] == "aggregate"
		var open *message // whose map goes on
		w := watch{c: c}
		w.told = func(e *trace.Event, m *message) {
			if !declares(c, e) || m == nil {
				return
			}
			switch {
			case e.Body.More && !aggregate:
				c.Failf(rule.Responder, "%s: an entry of its own announces others", m.name())
			case open != nil && open != m:
				c.Failf(rule.Responder, "the map of %s ends in that of %s", open.name(), m.name())
			}
			if open = nil; e.Body.More {
				open = m
			}
		}
		w.over = func(m *message) {
			switch {
			case !m.record || m.entries < 2:
			case m.again:
				c.FailAt(m.last, m.parts[0].record, rule.Responder, m.name()+" declares bytes twice; once expected")
			case m.entries > len(m.parts):
				c.FailAt(m.last, m.parts[0].record, rule.Responder, m.name()+" has more entries than segments")
			default:
				c.Met()
			}
		}
		w.end = func() {
			if open != nil {
				c.Failf(rule.Responder, "the map of %s announces an entry that never comes", open.name())
			}
		}
		return w.check()
	},
})

var onLast = define(rule.Rule{
	ID: "WREC-LAST-001", Level: rule.Must,
	Title: "A message is declared when its last segment arrives",
	Source: paper("VI-A2", "the final packet must arrive for the partial message to be placed into memory and those parts that are "+
		"valid are declared as such"),
	Needs: rule.TapResponder | rule.Completions, Stimulus: "a lost segment",
	New: func(c *rule.Context) rule.Check {
		early := map[*message]vtime.Time{}
		w := watch{c: c, told: func(e *trace.Event, m *message) {
			if declares(c, e) && m != nil && m.last == vtime.Never && len(early) < keep {
				early[m] = e.At
			}
		}, over: func(m *message) {
			at, hasty := early[m]
			delete(early, m)
			switch {
			case !m.record || m.last == vtime.Never || len(m.parts) < 2 || c.Now().Sub(m.last) < reaction:
			case hasty:
				c.FailAt(at, m.parts[0].record, rule.Responder, m.name()+" is declared before its last segment has arrived")
			case m.entries == 0:
				c.FailAt(m.last, m.parts[0].record, rule.Responder, m.name()+" is not declared although its last segment has arrived")
			default:
				c.Met()
			}
		}}
		return w.check()
	},
})

var lastLost = define(rule.Rule{
	ID: "WREC-LAST-002", Level: rule.Must,
	Title:  "A message whose last segment is lost has no completion entry at all",
	Source: paper("VI-A2", "Loss of this final packet results in the loss of the entire message."),
	Needs:  rule.TapResponder | rule.Completions, Stimulus: "a lost last segment",
	New: func(c *rule.Context) rule.Check {
		w := watch{c: c, over: func(m *message) {
			if !m.record || m.last != vtime.Never {
				return
			}
			c.Met()
			if m.entries > 0 {
				c.FailAt(m.first, m.parts[0].record, rule.Responder, m.name()+" is declared, and its last segment never arrived")
			}
		}}
		return w.check()
	},
})

var lateExtends = define(rule.Rule{
	ID: "WREC-LAST-003", Level: rule.Must,
	Title:  "Segments that arrive behind the last one extend what was declared, and take nothing back",
	Source: paper("IV-B3", "RDMA Write-Record must log at the target side what data has been written to memory and is valid."),
	Needs:  rule.TapResponder | rule.Completions, Stimulus: "a last segment that overtakes others",
	New: func(c *rule.Context) rule.Check {
		w := watch{c: c, over: func(m *message) {
			if !m.record || c.Now().Sub(m.parts[len(m.parts)-1].at) < reaction {
				return
			}
			for i := range m.parts {
				p := &m.parts[i]
				if !p.late || !p.fresh || p.len == 0 {
					continue
				}
				c.Met()
				if !m.declared.covers(p.off, p.off+p.len) {
					c.FailAt(p.at, p.record, rule.Responder, m.name()+": bytes "+spans{{p.off, p.off + p.len}}.String()+
						" came late and were not declared")
				}
			}
		}}
		return w.check()
	},
})

var recordIsDone = define(rule.Rule{
	ID: "WREC-SRC-001", Level: rule.Must,
	Title:  "The source completes when the message is handed to UDP, and needs no message from the target",
	Source: paper("IV-B3", "the source completes the operation at the moment that the last bit of the message is passed to transport layer."),
	Needs:  rule.TapRequester | rule.Completions, Stimulus: "a Write-Record",
	New: func(c *rule.Context) rule.Check { return handedOver(c, engine.OpWrite, true) },
})

var neverAnswers = define(rule.Rule{
	ID: "WREC-SRC-002", Level: rule.MustNot,
	Title:  "The target sends no packet in response",
	Source: paper("IV-B3", "unlike a traditional RC RDMA Write operation, no further communication is required between the source and target"),
	Needs:  rule.TapResponder | rule.Completions, Stimulus: "every operation and length",
	New: func(c *rule.Context) rule.Check {
		came := false
		w := watch{c: c, came: func(d *datagram, _ *message, _ *part) {
			if came = came || d.Segment.Tagged; came {
				c.Met()
			}
		}}
		w.back = func(s *rule.Sight) {
			if came && w.posts[c.Req.Other()] == 0 {
				c.FailAt(s.At, s.Index, rule.Responder, "sends a packet, and has no work of its own; silence expected")
			}
		}
		return w.check()
	},
})

var neverMixed = define(rule.Rule{
	ID: "WREC-ID-001", Level: rule.Must,
	Title:  "Two messages under way, of one source or several, never mix in one map",
	Source: paper("IV-B3", "RDMA Write-Record must log at the target side what data has been written to memory and is valid."),
	Needs:  rule.TapResponder | rule.Completions, Stimulus: "two senders, one STag",
	New: func(c *rule.Context) rule.Check {
		var under *message // under way when another one began
		both := false
		w := watch{c: c, came: func(_ *datagram, m *message, _ *part) {
			if m == nil || !m.record {
				return
			}
			if both = both || under != nil && under != m && under.last == vtime.Never; both {
				c.Met()
			}
			under = m
		}, told: func(e *trace.Event, m *message) {
			if !both || !declares(c, e) {
				return
			}
			if m == nil {
				c.Failf(rule.Responder, "declares message %d, of which nothing has arrived", e.Body.ID)
			} else if x := m.chunk(e); !m.arrived.covers(x.from, x.to) {
				c.Failf(rule.Responder, "%s declares %s, and what arrived of it is %s", m.name(), spans{x}, m.arrived)
			}
		}}
		return w.check()
	},
})

var logBounded = define(rule.Rule{
	ID: "WREC-ID-002", Level: rule.Must,
	Title:  "The log is bounded, and a message that is never declared leaves it after t_rec",
	Source: paper("IV-A", "When utilizing OS bypass, such memory savings are important, as state information needs to be held in memory on the RNIC"),
	Needs:  rule.TapResponder | rule.Completions | rule.Probes, Stimulus: "a lost last segment",
	New: func(c *rule.Context) rule.Check {
		open, kept, ended := 0, int64(0), int64(0)
		w := watch{c: c}
		w.told = func(e *trace.Event, _ *message) {
			if !c.Mine(e) && e.Kind == trace.Probe && e.Name == "messages" {
				kept = e.Value
			}
		}
		w.over = func(m *message) {
			switch {
			case m.record && m.last == vtime.Never && c.Now().Sub(m.first) >= w.rec+reaction:
				open++
				c.Met()
			default:
				ended++
			}
		}
		w.end = func() {
			if open > 0 && c.Alone && kept > ended {
				c.Failf(rule.Responder, "%d messages are remembered, and only %d of them may be", kept, ended)
			}
		}
		return w.check()
	},
})
