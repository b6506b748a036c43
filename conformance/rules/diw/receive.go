package diw

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// received reports whether e is the completion of a receive without an error.
func received(e *trace.Event) bool {
	return e.Kind == trace.Recv && e.Body.Status == engine.StatusSuccess
}

var oldestReceive = define(rule.Rule{
	ID: "UDSR-MAT-001", Level: rule.Must,
	Title:  "The first segment of a new message takes the oldest posted receive",
	Source: paper("IV-B1", "Datagram-iWARP matches incoming packets at the DDP layer with the appropriate receive WR."),
	Needs:  rule.TapResponder | rule.Completions | rule.Stores, Stimulus: "interleaved messages",
	New: watching(func(w *watch) {
		posted := map[uint64]bool{} // addresses of all receives posted
		w.told = func(e *trace.Event, m *message) {
			switch {
			case !w.orderly():
			case e.Kind == trace.Receive:
				posted[e.VA] = true
			case received(e):
				if w.Met(); posted[e.VA] && m == nil {
					w.Failf(rule.Responder, "completes receive %d, which was not the oldest when any message began", e.Body.ID)
				}
			}
		}
	}),
})

var noReceive = define(rule.Rule{
	ID: "UDSR-MAT-002", Level: rule.Must,
	Title:  "Without a posted receive a SEND is dropped and counted, and not answered",
	Source: paper("IV-B1", "This allows for the failure to receive a given packet."),
	Needs:  rule.Both | rule.Completions | rule.Probes, Stimulus: "a SEND without a posted receive",
	New: watching(func(w *watch) {
		due := int64(0) // number of segments that found no receive
		w.came = func(d *datagram, m *message, _ *part) {
			if s := &d.Segment; w.orderly() && m == nil && s.Opcode == iwarp.Send && s.QN == iwarp.QueueSend && valid(s) {
				due++
				w.Met()
			}
		}
		w.back = func(s *rule.Sight) {
			if due > 0 && !w.works() {
				w.FailAt(s.At, s.Index, rule.Responder, "answers a SEND for which there is no receive; silence expected")
			}
		}
		w.told = func(e *trace.Event, m *message) {
			if received(e) && due > 0 && m == nil {
				w.Failf(rule.Responder, "completes receive %d for a message that found no receive", e.Body.ID)
			}
		}
		w.end = func() {
			if counted := w.probes["no_receive"]; counted < due {
				w.Failf(rule.Responder, "counts %d of %d segments without a receive", counted, due)
			}
		}
	}),
})

var silentPoll = define(rule.Rule{
	ID: "UDSR-TMO-002", Level: rule.Must,
	Title:  "When nothing arrives, the target's completion queue stays empty and nothing fails",
	Source: paper("IV-B1", "it is essential that the completion queue be polled with a defined timeout period."),
	Needs:  rule.Both | rule.Completions, Stimulus: "a run in which nothing arrives",
	New: watching(func(w *watch) {
		sent := false
		w.sent = func(*datagram) { sent = true }
		w.told = func(e *trace.Event, _ *message) {
			switch e.Kind {
			case trace.Recv, trace.Declared, trace.Lost, trace.Refused, trace.Fatal:
				if !w.in.used() && (w.Alone || e.Kind == trace.Fatal) {
					w.Failf(rule.Responder, "%v %v although nothing has arrived; neither expected", e.Kind, e.Body.Status)
				}
			}
		}
		w.end = func() {
			if sent && !w.in.used() {
				w.Met()
			}
		}
	}),
})

var bufferHolds = define(rule.Rule{
	ID: "UDSR-LEN-001", Level: rule.Must,
	Title: "A message longer than its receive ends it with an error or is dropped; nothing is placed beyond " +
		"it, and the QP keeps working",
	Source: rule.Source{Ref: "RFC 5041 7.1", Requirement: "A segment that does not fit the untagged buffer is not " +
		"placed, and the error is surfaced"},
	Needs: rule.TapResponder | rule.Completions | rule.Stores, Stimulus: "a message longer than its receive",
	New: watching(func(w *watch) {
		long, bounds := false, map[uint64]uint32{} // such a message has arrived; lengths of receives by address
		w.came = func(_ *datagram, m *message, p *part) {
			if p != nil && m.matched && uint64(p.off)+uint64(p.len) > uint64(m.buf.len) {
				long = true
				w.Met()
			}
		}
		w.told = func(e *trace.Event, m *message) {
			switch {
			case e.Kind == trace.Receive:
				bounds[e.VA] = e.Len
			case e.Kind == trace.Fatal && long:
				w.Failf(rule.Responder, "the QP fails; it must keep working")
			case e.Kind == trace.Store && m != nil && !m.record && e.VA+uint64(e.Len) > m.buf.va+uint64(m.buf.len):
				w.Failf(rule.Responder, "places %d bytes at %#x, beyond receive %d", e.Len, e.VA, m.buf.id)
			case received(e) && e.Body.Len > bounds[e.VA] && long:
				w.Failf(rule.Responder, "receive %d of %d bytes completes with %d", e.Body.ID, bounds[e.VA], e.Body.Len)
			}
		}
	}),
})

var sendIsDone = define(rule.Rule{
	ID: "UDSR-CMP-005", Level: rule.Must,
	Title: "A SEND completes at the source when it is handed to UDP, whether it arrives or not",
	Source: paper("IV-B3",
		"The send side initiates a request, which completes as soon as the data are delivered to the UDP layer."),
	Needs: rule.Both | rule.Fates | rule.Completions, Stimulus: "SENDs, none of which need arrive",
	New: watching(func(w *watch) { w.handedOver(true) }),
})

var recordIsDone = define(rule.Rule{
	ID: "WREC-SRC-001", Level: rule.Must,
	Title: "The source completes when the message is handed to UDP, and needs no message from the target",
	Source: paper("IV-B3", "the source completes the operation at the moment that the last bit of the message is "+
		"passed to transport layer."),
	Needs: rule.TapRequester | rule.Completions, Stimulus: "a Write-Record",
	New: watching(func(w *watch) { w.handedOver(false) }),
})

// handedOver checks that SENDs, or else Write-Records, complete when their last segment leaves. The stimulus is every
// Write-Record, and a SEND with a loss.
func (w *watch) handedOver(sends bool) {
	var left, done []vtime.Time // departures of last segments, and times of completions, in order
	lost := false
	w.sent = func(d *datagram) {
		if s := &d.Segment; d.err != nil || s.Opcode.IsSend() != sends || !sends && s.Opcode != iwarp.WriteRecord {
			return
		}
		if lost = lost || d.lost; d.Segment.Last {
			if left = append(left, d.at); !sends || lost {
				w.Met()
			}
			lost = false
		}
	}
	w.tells = func(e *trace.Event) {
		if e.Kind == trace.CQE && (sends && e.Body.Op.TakesReceive() || !sends && e.Body.Op == engine.OpWrite) {
			done = append(done, e.At)
			if e.Body.Status != engine.StatusSuccess && e.Body.Status != engine.StatusLocalProtection {
				w.Failf(rule.Requester, "request %d completes with %v; success expected", e.Body.ID, e.Body.Status)
			}
		}
	}
	w.end = func() {
		for i, at := range left {
			if w.Attr.CQModeration <= 1 && i >= len(done) && w.hadTimeFrom(at) {
				w.Failf(rule.Requester, "%d messages have left, but only %d have completed", len(left), len(done))
				return
			}
			if i < len(done) && done[i].Sub(at) > rule.HostPatience {
				w.FailAt(done[i], rule.NoRecord, rule.Requester, "a request completes long after its last segment left")
			}
		}
	}
}
