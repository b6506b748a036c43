package ruletest

import (
	"fmt"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule/example"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// between judges a fixture as seen by a tap between the ports, once before the link loses and changes packets and once
// behind. It returns the failures: such a tap shows less than taps at the ports, so a rule that held must not fail.
func between(f *example.Example, r *rule.Rule) (problems []string) {
	for _, behind := range []bool{false, true} {
		h := f.Header
		h.Taps, h.Between, h.Reports = [2]bool{}, true, 0
		verdict := func(r rule.Rule) rule.Verdict {
			j := rule.NewJudge(h, []rule.Rule{r}, f.Options)
			f.Play(&middle{next: trace.NewTimeline(&h, j), behind: behind})
			return j.Verdicts()[0]
		}
		v := verdict(*r)
		if diff := cmp.Diff(verdict(r.Attentive()), v); diff != "" {
			problems = append(problems, "from a tap between the ports, what wakes its check changes the verdict "+
				"(-attentive +given):\n"+diff)
		}
		if v.Status == rule.Fail {
			problems = append(problems, fmt.Sprintf("fails from a tap between the ports (behind the losses: %v): %s",
				behind, v.Findings[0].Text))
		}
	}
	return problems
}

// middle shows the packets that pass a tap between the ports, without those that the harness made, which would look
// like the sender's there.
type middle struct {
	next   trace.Sink
	behind bool // the tap is behind the losses and changes of the link
}

// Packet implements trace.Sink.
func (m *middle) Packet(r *trace.Record) {
	if r.Fate == trace.Injected || m.behind && r.Fate == trace.Dropped {
		return
	}
	c := r.Clone()
	if ch := c.Changed; ch != nil && m.behind {
		c.Packet, c.Sum, c.ICRC, c.Raw, c.Defect = ch.Packet, ch.Sum, ch.ICRC, ch.Raw, ch.Defect
	}
	c.Sent, c.Recv, c.Fate, c.Changed, c.Cause, c.Copy = r.Time(), vtime.Never, trace.Unknown, nil, "", false
	m.next.Packet(c)
}

// Event implements trace.Sink; a tap has no events.
func (m *middle) Event(*trace.Event) {}

// End implements trace.Sink.
func (m *middle) End(at vtime.Time) { m.next.End(at) }
