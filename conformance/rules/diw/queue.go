package diw

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var lossIsNoError = define(rule.Rule{
	ID: "DIW-QP-001", Level: rule.Must,
	Title: "Data loss never moves the QP to the error state",
	Source: paper("IV-B, 2", "we don't invalidate LLP streams (or QPs) when errors occur due to data loss, they are simply "+
		"reported, but the QP is not forced into the error state for unreliable service."),
	Needs: rule.Both | rule.Fates | rule.Completions, Stimulus: "random loss",
	New: func(c *rule.Context) rule.Check {
		lost := false
		w := watch{c: c, sent: func(d *datagram) {
			if d.lost {
				lost = true
				c.Met()
			}
		}, told: func(e *trace.Event, _ *message) {
			failed := e.Kind == trace.Fatal || e.Body.Status == engine.StatusFlushed && (e.Kind == trace.CQE || e.Kind == trace.Recv)
			if lost && failed {
				c.Failf(by(c, e), "%v %v after a loss; success expected of what arrived", e.Kind, e.Body.Status)
			}
		}}
		return w.check()
	},
})

// by blames the side that reported an event.
func by(c *rule.Context, e *trace.Event) rule.Blame {
	if c.Mine(e) {
		return rule.Requester
	}
	return rule.Responder
}

var manyPeers = define(rule.Rule{
	ID: "DIW-QP-002", Level: rule.Must, Rests: validity.Sequence,
	Title: "One QP serves many peers: each work request has a destination, and a completion reports the source",
	Source: paper("IV-B, 4", "In addition the completion queue elements need to be altered to include information concerning the "+
		"source address and port for incoming data."),
	Needs: rule.TapRequester | rule.Completions, Stimulus: "three senders",
	New: func(c *rule.Context) rule.Check {
		source := uint16(0)
		w := watch{c: c, sent: func(d *datagram) {
			if source == 0 {
				source = d.Src
			}
			if d.Dst != iwarp.Port || d.Src != source {
				c.FailAt(d.at, d.record, rule.Requester, "not from the QP's own port to that of the peer's one QP")
			}
		}, told: func(e *trace.Event, _ *message) {
			if c.Mine(e) || e.Kind != trace.Recv && e.Kind != trace.Declared || source == 0 {
				return
			}
			if !c.Alone {
				c.Met()
			}
			if e.Body.Peer != source {
				c.Failf(rule.Responder, "the completion of what port %d sent reports port %d", source, e.Body.Peer)
			}
		}}
		return w.check()
	},
})

var noConnection = define(rule.Rule{
	ID: "DIW-QP-003", Level: rule.Must,
	Title: "There is no connection state: the first datagram from an unknown peer is accepted",
	Source: paper("IV-A", "It also requires a smaller memory footprint than the current connection based standard over TCP or SCTP, "+
		"since it does not have to keep information regarding connections."),
	Needs: rule.Both | rule.Completions, Stimulus: "any traffic",
	New: func(c *rule.Context) rule.Check {
		var first *message
		judged := false
		w := watch{c: c}
		w.came = func(_ *datagram, m *message, _ *part) {
			if first == nil && !judged && m != nil {
				if first = m; m.number > 1 || m.record && m.number > 0 {
					judged, first = true, nil // what came first was lost
				}
			}
		}
		w.over = func(m *message) {
			if m != first || m.whole == vtime.Never || c.Now().Sub(m.whole) < reaction {
				return
			}
			c.Met()
			if m.record && m.entries == 0 || !m.record && !m.ended {
				c.FailAt(m.first, m.parts[0].record, rule.Responder, "the first message of the peer arrived whole and nothing came of it")
			}
		}
		return w.check()
	},
})

var neverAgain = define(rule.Rule{
	ID: "DIW-QP-004", Level: rule.MustNot,
	Title:  "A sender never sends anything again",
	Source: paper("IV-B3", "no further communication is required between the source and target"),
	Needs:  rule.Both | rule.Fates, Stimulus: "random loss",
	New: func(c *rule.Context) rule.Check {
		var last [2]struct{ number, off uint64 }
		w := watch{c: c, sent: func(d *datagram) {
			if d.err != nil {
				return
			}
			if d.lost {
				c.Met()
			}
			s, k := &d.Segment, 0
			number, off := uint64(s.MSN), uint64(s.MO)+1
			if s.Tagged {
				k, number, off = 1, uint64(s.Record.ID)+1, uint64(s.Record.Off)+1
			}
			if l := &last[k]; number < l.number || number == l.number && off <= l.off {
				c.FailAt(d.at, d.record, rule.Requester, "sent before: "+s.String())
			} else {
				l.number, l.off = number, off
			}
		}}
		return w.check()
	},
})
