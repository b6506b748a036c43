package scenario

import (
	"fmt"
	"sort"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// String prints the Spec in its canonical form, which parses back to the same Spec.
func (s *Spec) String() string {
	var b strings.Builder
	for _, t := range s.Title {
		fmt.Fprintf(&b, "# %s\n", t)
	}
	fmt.Fprintf(&b, "seed %d\nimpl %s %s\n", s.Seed, s.Impl[0], s.Impl[1])
	s.printParams(&b)
	s.printLinks(&b)
	for _, f := range s.Faults {
		fmt.Fprintln(&b, f)
	}
	for _, in := range s.Injections {
		fmt.Fprintln(&b, in)
	}
	s.printQPs(&b)
	for _, l := range s.Loads {
		fmt.Fprintf(&b, "load %s from=%s msg=%s count=%d\n", loadName(l.Op), l.From, l.Msg, l.Count)
	}
	for _, p := range s.Posts {
		fmt.Fprintln(&b, p)
	}
	if s.Reads.Detail {
		fmt.Fprintln(&b, "report detail")
	}
	fmt.Fprintf(&b, "run for=%s limit=%s\n", s.For, s.Limit)
	return b.String()
}

func (s *Spec) printParams(b *strings.Builder) {
	names := make([]string, 0, len(s.Params))
	for k := range s.Params {
		names = append(names, k)
	}
	sort.Strings(names)
	for _, k := range names {
		fmt.Fprintf(b, "param %s=%s\n", k, s.Params[k])
	}
}

func (s *Spec) printLinks(b *strings.Builder) {
	for _, d := range []struct {
		name string
		link spec.Link
	}{{"A>B", s.Link.AB}, {"B>A", s.Link.BA}} {
		fmt.Fprintf(b, "link %s %s\n", d.name, d.link)
		if d.link.Loss.Model != spec.NoLoss {
			fmt.Fprintf(b, "loss %s %s\n", d.name, d.link.Loss)
		}
	}
}

func (s *Spec) printQPs(b *strings.Builder) {
	for side, q := range s.QP {
		fmt.Fprintf(b, "qp %s start=%s %s\n", trace.Side(side), q.SendPSN, attributes(&q))
	}
	fmt.Fprintf(b, "qp count=%d receives=%d receive-len=%s replenish=%d\n", s.QPs, s.Receives, s.ReceiveLen, bit(s.Replenish))
}

// attributes prints what readAttributes reads.
func attributes(q *engine.QP) string {
	rto := ""
	if q.RTO != 0 {
		rto = fmt.Sprintf(" rto=%s", q.RTO)
	}
	return fmt.Sprintf("mtu=%d timeout=%d%s retry=%d rnr=%d min-rnr=%d qd=%d cqmod=%d ackreq=%d coalesce=%d rd=%d dest-rd=%d pkey=%d access=%s",
		q.MTU, q.Timeout, rto, q.RetryCount, q.RNRRetry, q.MinRNRTimer, q.QueueDepth, q.CQModeration, q.AckReqEvery, q.AckCoalesce,
		q.MaxRdAtomic, q.MaxDestRd, q.PKey, accessText(q.Access))
}

func accessText(a engine.Access) string {
	text := ""
	for _, c := range "wra" {
		if a&accessLetters[c] != 0 {
			text += string(c)
		}
	}
	if text == "" {
		return "none"
	}
	return text
}

func loadName(op engine.Op) string {
	return strings.ReplaceAll(strings.ToLower(op.String()), "_", "-")
}

func bit(v bool) int {
	if v {
		return 1
	}
	return 0
}

// String prints the post as a statement.
func (p Post) String() string {
	var b strings.Builder
	b.WriteString(p.verb())
	fmt.Fprintf(&b, " from=%s at=%s qp=%d wr=%d len=%d", p.From, p.At, p.QP, p.WR.ID, p.WR.Len)
	add := func(name string, v int64) {
		if v != 0 {
			fmt.Fprintf(&b, " %s=%d", name, v)
		}
	}
	add("local", p.LocalOff)
	add("remote", p.RemoteOff)
	if p.WR.Op == engine.OpSendImm || p.WR.Op == engine.OpWriteImm {
		fmt.Fprintf(&b, " imm=%d", p.WR.Imm)
	}
	if p.WR.Op == engine.OpSendInv {
		fmt.Fprintf(&b, " inv=%d", p.WR.InvKey)
	}
	if p.WR.Op == engine.OpCompareSwap {
		b.WriteString(" op=swap")
	}
	add("compare", int64(p.WR.Compare))
	add("value", int64(p.WR.SwapAdd))
	if p.BadKey {
		b.WriteString(" rkey=bad")
	}
	add("solicited", int64(bit(p.WR.Solicited)))
	if p.WR.Unsignal {
		b.WriteString(" signal=0")
	}
	return b.String()
}

func (p Post) verb() string {
	switch {
	case p.Receive:
		return "post-receive"
	case p.WR.Op == engine.OpRead:
		return "post-read"
	case p.WR.Op == engine.OpWrite, p.WR.Op == engine.OpWriteImm:
		return "post-write"
	case p.WR.Op == engine.OpCompareSwap, p.WR.Op == engine.OpFetchAdd:
		return "post-atomic"
	}
	return "post-send"
}

// String prints the injection as a statement.
func (in Injection) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "inject %s at=%s qp=%d", in.To, in.At, in.QP)
	if in.Cut != 0 {
		fmt.Fprintf(&b, " cut=%d", in.Cut)
	}
	if in.BadCRC {
		b.WriteString(" icrc=bad")
	}
	for i, e := range in.Raw {
		sep := ","
		if i == 0 {
			sep = " set="
		}
		fmt.Fprintf(&b, "%s%s:%d", sep, e.Field, e.Value)
	}
	return b.String() + " : " + in.Packet
}
