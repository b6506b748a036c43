package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// String prints the Spec in its canonical form, which parses back to the same Spec.
func (s *Spec) String() string {
	var b strings.Builder
	for _, t := range s.Title {
		b.WriteString(strings.TrimRight("# "+t, " ") + "\n")
	}
	fmt.Fprintf(&b, "seed %d\nimpl %s %s\n", s.Seed, s.Impl[0], s.Impl[1])
	for _, k := range slices.Sorted(maps.Keys(s.Params)) {
		fmt.Fprintf(&b, "param %s=%s\n", k, s.Params[k])
	}
	for _, d := range s.links() {
		fmt.Fprintf(&b, "link %s %s\n", d.name, d.link)
		if d.link.Loss.Model != spec.NoLoss {
			fmt.Fprintf(&b, "loss %s %s\n", d.name, d.link.Loss)
		}
	}
	lines(&b, s.Faults)
	b.WriteString(s.LAN.text())
	b.WriteString(s.CM.text())
	lines(&b, s.Injections)
	b.WriteString(s.devices())
	for side, q := range s.QP {
		fmt.Fprintf(&b, "qp %s start=%s %s\n", trace.Side(side), q.SendPSN, attributes(&q))
	}
	fmt.Fprintf(&b, "qp count=%d receives=%d receive-len=%s replenish=%d\n", s.QPs, s.Receives,
		s.ReceiveLen, bit(s.Replenish))
	lines(&b, s.Loads)
	lines(&b, s.Posts)
	b.WriteString(s.Turns.text())
	switch {
	case s.Reads.Fuzz:
		b.WriteString("report fuzz\n")
	case s.Reads.Detail:
		b.WriteString("report detail\n")
	}
	fmt.Fprintf(&b, "run for=%s limit=%s\n", s.For, s.Limit)
	return b.String()
}

// lines prints each element as a statement.
func lines[T fmt.Stringer](b *strings.Builder, list []T) {
	for _, x := range list {
		fmt.Fprintln(b, x)
	}
}

// direction is one direction of the link under the name that statements give it.
type direction struct {
	name string
	link *spec.Link
}

// links returns both directions, so that callers treat them alike.
func (s *Spec) links() [2]direction {
	return [2]direction{{"A>B", &s.Link.AB}, {"B>A", &s.Link.BA}}
}

func bit(v bool) int {
	if v {
		return 1
	}
	return 0
}
