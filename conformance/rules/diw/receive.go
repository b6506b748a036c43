package diw

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// received reports the completion of a receive without an error.
func received(c *rule.Context, e *trace.Event) bool {
	return e.Kind == trace.Recv && !c.Mine(e) && e.Body.Status == engine.StatusSuccess
}

var oldestReceive = define(rule.Rule{
	ID: "UDSR-MAT-001", Level: rule.Must,
	Title:  "The first segment of a new message takes the oldest posted receive",
	Source: paper("IV-B1", "Datagram-iWARP matches incoming packets at the DDP layer with the appropriate receive WR."),
	Needs:  rule.TapResponder | rule.Completions | rule.Stores, Stimulus: "interleaved messages",
	New: func(c *rule.Context) rule.Check {
		posted := map[uint64]uint64{} // receive by address, of those that were ever posted
		w := watch{c: c, told: func(e *trace.Event, m *message) {
			switch {
			case c.Mine(e) || !c.Alone:
			case e.Kind == trace.Receive:
				posted[e.VA] = e.Body.ID
			case received(c, e):
				c.Met()
				if _, known := posted[e.VA]; known && m == nil {
					c.Failf(rule.Responder, "completes receive %d, which was not the oldest when any message began", e.Body.ID)
				}
			}
		}}
		return w.check()
	},
})

var noReceive = define(rule.Rule{
	ID: "UDSR-MAT-002", Level: rule.Must,
	Title:  "Without a posted receive a SEND is dropped and counted, and not answered",
	Source: paper("IV-B1", "This allows for the failure to receive a given packet."),
	Needs:  rule.Both | rule.Completions | rule.Probes, Stimulus: "a SEND without a posted receive",
	New: func(c *rule.Context) rule.Check {
		due, counted := int64(0), int64(0)
		w := watch{c: c}
		w.came = func(d *datagram, m *message, _ *part) {
			if s := &d.Segment; c.Alone && m == nil && !s.Tagged && s.Opcode == iwarp.Send && s.DDP == iwarp.Version && s.RDMAP == iwarp.Version {
				due++
				c.Met()
			}
		}
		w.back = func(s *rule.Sight) {
			if due > 0 && w.posts[c.Req.Other()] == 0 {
				c.FailAt(s.At, s.Index, rule.Responder, "answers a SEND for which there is no receive; silence expected")
			}
		}
		w.told = func(e *trace.Event, m *message) {
			switch {
			case c.Mine(e):
			case e.Kind == trace.Probe && e.Name == "no_receive":
				counted = e.Value
			case received(c, e) && due > 0 && m == nil:
				c.Failf(rule.Responder, "completes receive %d for a message that found none", e.Body.ID)
			}
		}
		w.end = func() {
			if counted < due {
				c.Failf(rule.Responder, "counts %d segments without a receive of %d", counted, due)
			}
		}
		return w.check()
	},
})

var wholeOnly = define(rule.Rule{
	ID: "UDSR-CMP-001", Level: rule.Must,
	Title: "A receive completes only when the whole message has arrived",
	Source: paper("VI-A2", "We can observe that the solution of partial delivery of messages improves performance over the "+
		"required full message delivery used in our send/recv method."),
	Needs: rule.TapResponder | rule.Completions, Stimulus: "a lost segment",
	New: func(c *rule.Context) rule.Check {
		w := watch{c: c, told: func(e *trace.Event, m *message) {
			if received(c, e) && (m == nil || m.whole == vtime.Never || m.length != e.Body.Len) {
				c.Failf(rule.Responder, "receive %d completes with %d bytes, and no such message has arrived whole", e.Body.ID, e.Body.Len)
			}
		}, over: func(m *message) {
			if !m.record && m.whole == vtime.Never {
				c.Met()
			}
		}}
		return w.check()
	},
})

// intact says what is wrong with the memory behind a completed receive, as far as placements tell.
func (m *message) intact() string {
	if !m.arrived.covers(0, m.length) {
		return "it lacks bytes"
	}
	for i := range m.parts {
		if p := &m.parts[i]; p.fresh && p.len > 0 && !p.stored {
			return "bytes " + (spans{{p.off, p.off + p.len}}).String() + " were not placed as sent"
		}
	}
	return ""
}

var completionOrder = define(rule.Rule{
	ID: "UDSR-CMP-002", Level: rule.Must,
	Title: "Messages complete in the order in which they become whole, with the right contents",
	Source: paper("IV-B1", "It does not guarantee that the order in which the incoming packets are completed is the order in "+
		"which the send side actually transmitted the data."),
	Needs: rule.TapResponder | rule.Completions | rule.Stores, Stimulus: "segments that overtake each other",
	New: func(c *rule.Context) rule.Check {
		newest, latest := uint32(0), vtime.Time(0)
		w := watch{c: c}
		w.told = func(e *trace.Event, m *message) {
			if !received(c, e) || m == nil || m.whole == vtime.Never || !m.matched {
				return
			}
			if m.number < newest {
				c.Met()
			}
			if why := m.intact(); why != "" {
				c.Failf(rule.Responder, "%s completes, and %s", m.name(), why)
			}
			if m.whole < latest {
				c.Failf(rule.Responder, "%s completes after a message that became whole later", m.name())
			}
			newest, latest = max(newest, m.number), max(latest, m.whole)
		}
		return w.check()
	},
})

var reassembles = define(rule.Rule{
	ID: "UDSR-CMP-003", Level: rule.Must,
	Title:  "Segments of one message that arrive out of order are reassembled",
	Source: rule.Source{Ref: "RFC 5041 5.2", Requirement: "MO says where in the message a segment lies, and the sink places it there"},
	Needs:  rule.TapResponder | rule.Completions | rule.Stores, Stimulus: "segments that overtake each other",
	New: func(c *rule.Context) rule.Check {
		w := watch{c: c, over: func(m *message) {
			if m.record || !m.matched || m.whole == vtime.Never || !m.shuffled() || c.Now().Sub(m.whole) < reaction {
				return
			}
			c.Met()
			why := m.intact()
			if !m.ended {
				why = "its receive does not complete"
			}
			if why != "" {
				c.FailAt(m.whole, m.parts[0].record, rule.Responder, m.name()+" arrived out of order and whole, and "+why)
			}
		}}
		return w.check()
	},
})

// shuffled reports whether a segment came before one that precedes it in the message.
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
	Title:  "A copy of a segment neither completes a receive again nor changes what was placed",
	Source: paper("IV-B1", "the applications must be able to handle out of order data"),
	Needs:  rule.TapResponder | rule.Completions | rule.Stores, Stimulus: "a segment that comes twice",
	New: func(c *rule.Context) rule.Check {
		copies := false
		w := watch{c: c, came: func(_ *datagram, m *message, p *part) {
			if p != nil && !m.record && !p.fresh && p.len > 0 {
				copies = true
				c.Met()
			}
		}, told: func(e *trace.Event, m *message) {
			if copies && received(c, e) && m == nil {
				c.Failf(rule.Responder, "receive %d completes, and every whole message has completed already", e.Body.ID)
			}
		}}
		return w.check()
	},
})

var sendIsDone = define(rule.Rule{
	ID: "UDSR-CMP-005", Level: rule.Must,
	Title:  "A SEND completes at the source when it is handed to UDP, whatever becomes of it",
	Source: paper("IV-B3", "The send side initiates a request, which completes as soon as the data are delivered to the UDP layer."),
	Needs:  rule.Both | rule.Fates | rule.Completions, Stimulus: "SENDs, none of which need arrive",
	New: func(c *rule.Context) rule.Check { return handedOver(c, engine.OpSend, false) },
})

// handedOver checks that requests of an operation complete when their last segment leaves. Always says that each counts as
// the stimulus, not only one that lost something.
func handedOver(c *rule.Context, op engine.Op, always bool) rule.Check {
	var left, done []vtime.Time // when last segments left, and when requests completed, in order
	lost := false
	w := watch{c: c}
	w.sent = func(d *datagram) {
		if d.err != nil || d.Segment.Tagged != (op == engine.OpWrite) {
			return
		}
		if lost = lost || d.lost; d.Segment.Last {
			if left = append(left, d.at); always || lost {
				c.Met()
			}
			lost = false
		}
	}
	w.told = func(e *trace.Event, _ *message) {
		if c.Mine(e) && e.Kind == trace.CQE && e.Body.Op == op {
			done = append(done, e.At)
			if e.Body.Status != engine.StatusSuccess && e.Body.Status != engine.StatusLocalProtection {
				c.Failf(rule.Requester, "request %d completes with %v; success expected", e.Body.ID, e.Body.Status)
			}
		}
	}
	w.end = func() {
		for i, at := range left {
			if c.Attr.CQModeration <= 1 && i >= len(done) && c.Now().Sub(at) >= reaction {
				c.Failf(rule.Requester, "%d messages have left, and %d completed", len(left), len(done))
				return
			}
			if i < len(done) && done[i].Sub(at) > reaction {
				c.FailAt(done[i], rule.NoRecord, rule.Requester, "a request completes long after its last segment left")
			}
		}
	}
	return w.check()
}

var givenUp = define(rule.Rule{
	ID: "UDSR-TMO-001", Level: rule.Must,
	Title: "A message that stays incomplete releases its receive after t_reasm, is reported as lost, and the QP goes on",
	Source: paper("IV-B4", "Typically, in the event of packet loss while sending large multi-packet datagram messages, the entire "+
		"message must be discarded."),
	Needs: rule.TapResponder | rule.Completions, Stimulus: "a lost segment",
	New: func(c *rule.Context) rule.Check {
		w := watch{c: c}
		w.told = func(e *trace.Event, m *message) {
			switch {
			case e.Kind == trace.Fatal:
				c.Failf(by(c, e), "the QP fails; it is expected to go on")
			case c.Mine(e) || e.Kind != trace.Lost || m == nil:
			case e.At.Sub(m.first) < w.reasm-reaction:
				c.Failf(rule.Responder, "%s is given up after %s", m.name(), e.At.Sub(m.first).Short())
			case e.At.Sub(m.first) > w.reasm+5*reaction:
				c.Failf(rule.Responder, "%s is given up only after %v us", m.name(), e.At.Sub(m.first)/vtime.Microsecond)
			}
		}
		w.over = func(m *message) {
			if m.record || m.whole != vtime.Never {
				return
			}
			if m.ended {
				c.Met()
			} else if c.Now().Sub(m.first) >= w.reasm+5*reaction {
				c.FailAt(m.first, m.parts[0].record, rule.Responder, m.name()+" never became whole and is not given up")
			}
		}
		return w.check()
	},
})

var silentPoll = define(rule.Rule{
	ID: "UDSR-TMO-002", Level: rule.Must,
	Title:  "When nothing arrives, the target's completion queue stays empty and nothing fails",
	Source: paper("IV-B1", "it is essential that the completion queue be polled with a defined timeout period."),
	Needs:  rule.Both | rule.Completions, Stimulus: "a run in which nothing arrives",
	New: func(c *rule.Context) rule.Check {
		sent, came := 0, 0
		w := watch{c: c, sent: func(*datagram) { sent++ }, came: func(*datagram, *message, *part) { came++ }, damaged: func(*datagram) { came++ }}
		w.told = func(e *trace.Event, _ *message) {
			switch e.Kind {
			case trace.Recv, trace.Declared, trace.Lost, trace.Refused, trace.Fatal:
				if came == 0 && !c.Mine(e) && (c.Alone || e.Kind == trace.Fatal) {
					c.Failf(rule.Responder, "%v %v although nothing has arrived; neither expected", e.Kind, e.Body.Status)
				}
			}
		}
		w.end = func() {
			if sent > 0 && came == 0 {
				c.Met()
			}
		}
		return w.check()
	},
})

var bufferHolds = define(rule.Rule{
	ID: "UDSR-LEN-001", Level: rule.Must,
	Title: "A message longer than its receive ends it with an error or is dropped; nothing is placed beyond it, and the QP goes on",
	Source: rule.Source{Ref: "RFC 5041 7.1", Requirement: "A segment that does not fit the untagged buffer is not placed, and the error is " +
		"surfaced"},
	Needs: rule.TapResponder | rule.Completions | rule.Stores, Stimulus: "a message longer than its receive",
	New: func(c *rule.Context) rule.Check {
		long := false
		bounds := map[uint64]uint32{}
		w := watch{c: c, came: func(_ *datagram, m *message, p *part) {
			if p != nil && m.matched && uint64(p.off)+uint64(p.len) > uint64(m.buf.len) {
				long = true
				c.Met()
			}
		}, told: func(e *trace.Event, m *message) {
			switch {
			case c.Mine(e):
			case e.Kind == trace.Receive:
				bounds[e.VA] = e.Len
			case e.Kind == trace.Fatal && long:
				c.Failf(rule.Responder, "the QP fails; it is expected to go on")
			case e.Kind == trace.Store && m != nil && !m.record && e.VA+uint64(e.Len) > m.buf.va+uint64(m.buf.len):
				c.Failf(rule.Responder, "places %d bytes at %#x, beyond receive %d", e.Len, e.VA, m.buf.id)
			case received(c, e) && e.Body.Len > bounds[e.VA] && long:
				c.Failf(rule.Responder, "receive %d of %d bytes completes with %d", e.Body.ID, bounds[e.VA], e.Body.Len)
			}
		}}
		return w.check()
	},
})
