package recording

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

// Answers that go to a wrong QP in bursts are found where the right flow leaves out just these, as they are not of
// another QP whose requests the capture lacks.
func TestAnswersToAWrongQP(t *testing.T) {
	const n = 60
	burst := func(from, to int) func(int) bool { return func(i int) bool { return i >= from && i < to } }
	odd := func(i int) bool { return i > 20 && i%2 == 1 }
	two := func(i int) bool { return burst(20, 30)(i) || burst(40, 47)(i) }
	for name, c := range map[string]struct {
		other, both func(i int) bool // of the messages whose answers go to another QP, and to both
		merged      func(i int) bool // of those whose answers are merged with the next
		want        bool
	}{
		"a burst":                       {other: burst(20, 30), want: true},
		"two bursts":                    {other: two, want: true},
		"every second one":              {other: odd, want: true},
		"the last ones":                 {other: burst(50, n)},
		"a QP that runs abreast":        {other: burst(0, 0), both: burst(20, n)},
		"a QP that was there before":    {other: burst(0, 0), both: burst(0, n)},
		"QPs that merge their answers":  {other: odd, merged: func(i int) bool { return i <= 20 && i%2 == 1 }},
		"a QP that answers in its turn": {other: burst(20, 30), merged: func(i int) bool { return i > 40 && i%2 == 1 }},
	} {
		var text strings.Builder
		text.WriteString("qp start=7\n")
		for i := range n {
			fmt.Fprintf(&text, "@%d..%d A>B SEND_ONLY psn=+%d len=1 A\n", 20*i, 20*i+5, i)
			ack := fmt.Sprintf("B>A ACK psn=+%d msn=%d", i, i+1)
			switch {
			case c.other(i):
				fmt.Fprintf(&text, "@%d..%d %s qp=0x99\n", 20*i+10, 20*i+15, ack)
			case c.merged != nil && c.merged(i):
			default:
				fmt.Fprintf(&text, "@%d..%d %s\n", 20*i+10, 20*i+15, ack)
				if c.both != nil && c.both(i) {
					fmt.Fprintf(&text, "@%d..%d %s qp=0x99\n", 20*i+11, 20*i+16, ack)
				}
			}
		}
		for _, tap := range []trace.Side{trace.A, trace.B} {
			r, _ := filed(t, tracetest.FramesAt(tracetest.Parse(t, text.String(), 0), tap))
			found := false
			for i := range r.Header.Conns {
				found = found || len(r.Header.Conns[i].Ends[trace.A].Misaddressed) > 0
			}
			if found != c.want {
				t.Errorf("%s, at %v: found %v, want %v", name, tap, found, c.want)
			}
		}
	}
}
