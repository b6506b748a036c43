package lowar

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var identical = define(rule.Rule{
	ID:    "LOWAR-DEC-002",
	Title: "A recovered packet equals the lost one: its payload is placed as if it had arrived",
	Source: rule.Source{Ref: "LOWAR IV-A", Requirement: "Packets in the ROB are seamlessly fed into the upper " +
		"RDMA stack, maintaining the sequence as if there were no losses occurred."},
	Needs: decodes | rule.TapRequester | rule.Stores, Sees: decoded, Stimulus: "a packet of each kind lost",
	New: func(c *rule.Context) rule.Check {
		k := placed{c: c}
		return rule.Check{Sight: k.sight, Event: k.event, End: k.end}
	},
})

// placed compares placements with the packets passed up, in order and independent of clocks. A recovered packet must be
// placed next. A placement that matches no packet, between two that do, was made from a wrong recovered packet.
type placed struct {
	c     *rule.Context
	due   []expected    // packets that were passed up and not placed yet
	other []trace.Event // placements that match none of due
}

// expected is a placement that is due.
type expected struct {
	*rule.Transmission
	recovered bool
}

func (k *placed) sight(s *rule.Sight) {
	if s.Point == trace.ResponderOut && rule.IsRNR(s.Pkt) {
		k.due, k.other = k.due[:0], k.other[:0] // refused packets are not placed
	}
	if s.Point != trace.ResponderIn || !s.Legal || s.Pkt.Len == 0 {
		return
	}
	if t := k.c.Sent(s.Pkt.PSN); t != nil && t.Sum != 0 && len(k.due) < openLimit {
		k.due = append(k.due, expected{t, s.Recovered})
	}
}

func (k *placed) event(e *trace.Event) {
	if e.Kind != trace.Store || k.c.Mine(e) || len(k.due) == 0 {
		return
	}
	for i, t := range k.due {
		if int(e.Len) == t.Len && e.Sum == t.Sum && (t.VA == 0 || t.VA == e.VA) {
			k.settle(i)
			if t.recovered {
				k.c.Met()
			}
			k.due = append(k.due[:0], k.due[i+1:]...)
			return
		}
	}
	if len(k.other) < openLimit {
		k.other = append(k.other, *e) // perhaps data of a READ by the responder's side
	}
}

// settle judges the first n of due, which were skipped.
func (k *placed) settle(n int) {
	if n == 1 && k.due[0].recovered && len(k.other) == 1 {
		t, e := k.due[0], &k.other[0]
		where := ""
		if t.VA != 0 {
			where = fmt.Sprintf(" at %#x", t.VA)
		}
		k.c.FailAt(e.At, rule.NoRecord, rule.Responder,
			fmt.Sprintf("%s was recovered: got %d bytes with checksum %08x placed at %#x, want %d with %08x%s",
				k.c.Request(t.PSN), e.Len, e.Sum, e.VA, t.Len, t.Sum, where))
	}
	k.other = k.other[:0]
}

func (k *placed) end(vtime.Time) { k.settle(len(k.due)) }
