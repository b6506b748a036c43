package diw

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var lossIsNoError = define(rule.Rule{
	ID: "DIW-QP-001", Level: rule.Must,
	Title: "Data loss never moves the QP to the error state",
	Source: paper("IV-B, 2", "we don't invalidate LLP streams (or QPs) when errors occur due to data loss, they are "+
		"simply reported, but the QP is not forced into the error state for unreliable service."),
	Needs: rule.Both | rule.Fates | rule.Completions, Stimulus: "random loss",
	New: watching(func(w *watch) {
		lost := false
		w.sent = func(d *datagram) {
			if d.lost {
				lost = true
				w.Met()
			}
		}
		failed := func(e *trace.Event, who rule.Blame) {
			flushed := e.Body.Status == engine.StatusFlushed && (e.Kind == trace.CQE || e.Kind == trace.Recv)
			if lost && (e.Kind == trace.Fatal || flushed) {
				w.Failf(who, "%v %v after a loss; success of the messages that arrived expected", e.Kind, e.Body.Status)
			}
		}
		w.told = func(e *trace.Event, _ *message) { failed(e, rule.Responder) }
		w.tells = func(e *trace.Event) { failed(e, rule.Requester) }
	}),
})

var manyPeers = define(rule.Rule{
	ID: "DIW-QP-002", Level: rule.Must, Rests: validity.Sequence,
	Title: "One QP serves many peers: each work request has a destination, and a completion reports the source",
	Source: paper("IV-B, 4", "In addition the completion queue elements need to be altered to include information "+
		"concerning the source address and port for incoming data."),
	Needs: rule.TapRequester | rule.Completions, Stimulus: "three senders",
	New: watching(func(w *watch) {
		source := uint16(0)
		w.sent = func(d *datagram) {
			if source == 0 {
				source = d.Src
			}
			if d.Dst != iwarp.Port || d.Src != source {
				w.wrong(d, "the ports are not the QP's own and that of the peer's only QP")
			}
		}
		w.told = func(e *trace.Event, _ *message) {
			if e.Kind != trace.Recv && e.Kind != trace.Declared || source == 0 {
				return
			}
			if !w.Alone {
				w.Met()
			}
			if e.Body.Peer != source {
				w.Failf(rule.Responder, "the completion of a message from port %d reports port %d", source, e.Body.Peer)
			}
		}
	}),
})

var noConnection = define(rule.Rule{
	ID: "DIW-QP-003", Level: rule.Must,
	Title: "There is no connection state: the first datagram from an unknown peer is accepted",
	Source: paper("IV-A", "It also requires a smaller memory footprint than the current connection based standard "+
		"over TCP or SCTP, since it does not have to keep information regarding connections."),
	Needs: rule.Both | rule.Completions, Stimulus: "any traffic",
	New: watching(func(w *watch) {
		var first *message // first message of the peer; nil if it was lost
		begun := false
		w.came = func(_ *datagram, m *message, _ *part) {
			if begun || m == nil {
				return
			}
			if begun = true; m.number == 0 || m.number == 1 && !m.record {
				first = m
			}
		}
		w.over = func(m *message) {
			switch {
			case m != first || !w.hadTimeFrom(m.whole):
			case m.entries > 0 || m.ended:
				w.Met()
			case m.owed():
				w.broken(m, m.first, "the first message of the peer arrived whole, but is neither completed nor declared")
			}
		}
	}),
})

var neverAgain = define(rule.Rule{
	ID: "DIW-QP-004", Level: rule.MustNot,
	Title:  "A sender never retransmits",
	Source: paper("IV-B3", "no further communication is required between the source and target"),
	Needs:  rule.Both | rule.Fates, Stimulus: "random loss",
	New: watching(func(w *watch) {
		var next [2]spot // the first place of the next SEND, and of the next Write-Record
		w.sent = func(d *datagram) {
			if d.err != nil {
				return
			}
			if d.lost {
				w.Met()
			}
			number, off := d.place()
			least := &next[0]
			if d.Segment.Tagged {
				least = &next[1]
			}
			if at := (spot{number: number, off: off}); least.sent && at.before(least) {
				w.wrong(d, "sent before: %s", d.Segment.String())
			} else {
				*least = spot{number, off + 1, true}
			}
		}
	}),
})

// spot is a place in the messages of one kind.
type spot struct {
	number, off uint32
	sent        bool // it is known
}

// before reports whether p is before q. Messages are numbered modulo 2^32, from any number.
func (p *spot) before(q *spot) bool {
	return int32(p.number-q.number) < 0 || p.number == q.number && p.off < q.off
}
