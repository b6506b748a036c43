package srn

import (
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// stateBytes is "12B of state overhead per QP" (FaSR V-A).
const stateBytes = 12

var stateSize = define(rule.Rule{
	ID: "SRN-QP-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "The SR state of a QP on the chip is 12 bytes, with no bitmap: it does not grow when packets wait",
	Source: rule.Source{Ref: "FASR V-A", Requirement: "SRNIC adds 12B of state overhead per QP to avoid contention " +
		"and a 1.2us delay in accessing the bitmaps."},
	Needs: rule.Probes, Stimulus: "none",
	New: func(c *rule.Context) rule.Check {
		return rule.Check{Event: func(e *trace.Event) {
			switch {
			case e.Kind != trace.Probe || e.Name != "qp_sr_bytes" || c.Mine(e):
			case e.Value != stateBytes:
				c.Failf(rule.Responder, "the SR state on the chip takes %d bytes, want %d", e.Value, stateBytes)
			default:
				c.Met()
			}
		}}
	},
})

var stalls = define(rule.Rule{
	ID: "SRN-STL-001", Level: rule.Must,
	Title: "Each bitmap query stalls the receive pipeline T_q: a retransmission is answered after its queries",
	Source: rule.Source{Ref: "FASR II-A", Requirement: "Because the receiver needs to pause the pipeline to wait for " +
		"the CPU's bitmap query results after receiving the retransmitted packet."},
	Needs: rule.TapResponder | rule.Attributes, Sees: rule.RequestIn | rule.ResponseOut, Stimulus: "a lost packet",
	New: func(c *rule.Context) rule.Check {
		w := stallWatch{c: c, pipe: pipeOf(c), queries: map[string]int64{}}
		return rule.Check{Sight: w.sight, Event: w.event}
	},
})

// stallWatch compares the time of the answer to a retransmission with the time of its queries, and the stalls that an
// engine reports with its queries.
type stallWatch struct {
	c       *rule.Context
	pipe    rule.Pipe
	queries map[string]int64 // by the prefix of the half, as reported

	waiting bool // for the answer to psn
	psn     psn.PSN
	until   vtime.Time // earliest time of the answer
	kept    keeping
}

// keeping tracks what the responder has said that it keeps ahead of the expected request. It may drop what it does not
// name: a SEND ahead of its turn for which no receive is posted (FASR V-A, IRN 5.3).
type keeping struct {
	any    bool
	newest psn.PSN // the newest request that a SACK has named
}

// says processes a response.
func (k *keeping) says(p *roce.Packet) {
	if rule.Selective(p) && !p.AETH.Syndrome.IsACK() && (!k.any || k.newest.Less(p.SACK.PSN)) {
		k.any, k.newest = true, p.SACK.PSN
	}
}

// beyond reports whether the responder keeps a request beyond x, which it has not acknowledged.
func (k *keeping) beyond(x psn.PSN) bool { return k.any && x.Less(k.newest) }

func (w *stallWatch) sight(s *rule.Sight) {
	c, p := w.c, s.Pkt
	if s.Point == trace.ResponderIn {
		// The request fills the hole, and the bitmap must be queried for the packets held behind it.
		if s.Relation == rule.InOrder && s.Legal && w.kept.beyond(p.PSN) && !w.waiting {
			w.waiting, w.psn, w.until = true, p.PSN, s.At.Add(w.pipe.Stall())
		}
		return
	}
	w.kept.says(p)
	last, ok := rule.Acknowledged(p)
	switch {
	case !w.waiting || !ok:
	case p.Opcode == roce.Acknowledge && !p.AETH.Syndrome.IsACK():
		w.waiting = false // the request was refused, or waits for a receive
	case last.Less(w.psn):
	default:
		w.waiting = false
		if s.Before(w.until) {
			c.Failf(rule.Responder, "acknowledges %s, which fills a hole, %v too early, before the end of %d queries of %v",
				c.Request(w.psn), w.until.Sub(s.At), w.pipe.Queries, w.pipe.Query)
			return
		}
		c.Met()
	}
}

// halves are the prefixes of the variables of a QP's halves, the requester's first.
var halves = [2]string{"req_", "resp_"}

// reported returns the half and the name of a variable; ok is false when it is not of its side's half in this
// half-conversation.
func reported(c *rule.Context, e *trace.Event) (half, name string, ok bool) {
	half = halves[1]
	if c.Mine(e) {
		half = halves[0]
	}
	name, ok = strings.CutPrefix(e.Name, half)
	return half, name, ok && e.Kind == trace.Probe
}

func (w *stallWatch) event(e *trace.Event) {
	half, name, ok := reported(w.c, e)
	switch {
	case !ok:
	case name == "bitmap_queries":
		w.queries[half] = e.Value
	case name != "stalled_ps":
	case e.Value != w.queries[half]*int64(w.pipe.Query):
		w.c.Failf(blame(half), "%d queries have stalled the pipeline for %v, want %v each", w.queries[half],
			vtime.Duration(e.Value), w.pipe.Query)
	case e.Value > 0:
		w.c.Met()
	}
}

func blame(half string) rule.Blame {
	if half == halves[0] {
		return rule.Requester
	}
	return rule.Responder
}

var noStall = define(rule.Rule{
	ID: "SRN-STL-002", Level: rule.MustNot,
	Title: "The pipeline does not stall for a QP that has lost nothing",
	Source: rule.Source{Ref: "FASR V-C1", Requirement: "SRNIC and FaSR maintain the highest throughput " +
		"with little change when the number of QPs increases from 16 to 5K, as they keep the QPC of 5K QPs entirely " +
		"in on-chip memory without cache misses."},
	Needs: rule.Both | rule.Probes, Sees: rule.RequestIn | rule.Responses | rule.ReadAckIn, Stimulus: "none",
	New: func(c *rule.Context) rule.Check {
		w := lossWatch{c: c}
		return rule.Check{Sight: w.sight, Event: w.event, End: w.end}
	},
})

// lossWatch records whether a packet came out of order; before that there must be no stall.
type lossWatch struct {
	c       *rule.Context
	lost    bool // a packet came out of order
	arrived int  // number of requests that arrived in order
}

func (w *lossWatch) sight(s *rule.Sight) {
	p := s.Pkt
	switch {
	case s.Relation == rule.Ahead, rule.Selective(p) && !p.AETH.Syndrome.IsACK():
		w.lost = true
	case s.Point == trace.ResponderIn && s.Relation == rule.InOrder:
		w.arrived++
	}
}

func (w *lossWatch) event(e *trace.Event) {
	half, name, ok := reported(w.c, e)
	if ok && name == "stalled_ps" && !w.lost {
		w.c.Failf(blame(half), "the pipeline has stalled for %v, want 0: every packet came in order", vtime.Duration(e.Value))
	}
}

func (w *lossWatch) end(vtime.Time) {
	if w.arrived > 0 && !w.lost {
		w.c.Met()
	}
}
