package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Context is given to a check: the half-conversation that it judges, and the means to report.
type Context struct {
	*Conversation
	*account
	owes *Obligation // the first obligation of the check; nil when it has none
}

// place is the time and record of the current sight, event or end, shared by all checks of a Judge.
type place struct {
	at     vtime.Time
	record uint64
	sender trace.Side // of the current packet; valid when sent is true
	sent   bool       // there is a current packet, and an endpoint sent it
	// the current packet is a response that does not decode; it is shown to the half-conversation of the requests of
	// its sender, who is the responder of the other one
	answers bool
}

// defaultFindings bounds the findings that are kept of a rule; further violations are only counted.
const defaultFindings = 5

// Doubt records an observation for which another party may be to blame than the one that the rule judges. The rule is
// then INCONCLUSIVE with this text as reason, unless it fails elsewhere.
func (c *Context) Doubt(text string) {
	c.said++
	c.doubt.note(c.Conversation, text)
}

// Met records that the stimulus of the rule has arisen.
func (c *Context) Met() { c.met++ }

// Fail reports a violation shown by the current sight or event. It implies Met.
func (c *Context) Fail(who Blame, text string) {
	c.FailAt(c.judge.here.at, c.judge.here.record, who, text)
}

// Failf is Fail with a text that is formatted only if the finding is kept.
func (c *Context) Failf(who Blame, format string, args ...any) {
	report(c, c.judge.here.at, c.judge.here.record, who, func() string {
		for i, a := range args {
			if d, ok := a.(vtime.Duration); ok && d > vtime.Millisecond { // the nanoseconds of a host's clock tell nothing
				args[i] = d / vtime.Microsecond * vtime.Microsecond
			}
		}
		return fmt.Sprintf(format, args...)
	})
}

// FailAt reports a violation shown by an earlier record, such as a request whose answer never came. The text gives the
// expectation and the observation. FailAt adds the name of the packet, and a note when the PSNs of the finding lie on
// both sides of the wrap.
func (c *Context) FailAt(at vtime.Time, record uint64, who Blame, text string) {
	report(c, at, record, who, func() string { return text })
}

// report is FailAt with a function that returns the text.
func report(c *Context, at vtime.Time, record uint64, who Blame, text func() string) {
	if why := unproven(c, at, record, who); why != "" {
		c.Doubt(why)
		return
	}
	c.met++
	c.total++
	c.said++
	f := Finding{Rule: c.rule.ID, Blame: who, Conn: c.Index, At: at, Record: record}
	if side, ok := c.atFault(who); ok {
		c.against[side]++
		f.Side = side.String()
	}
	if who == Requester && c.judge.here.answers {
		f.Blame = Responder
	}
	if c.keeps(&f) {
		name, shown := c.judge.seen.name(record, c.Start)
		f.Packet, f.Text = name, text()
		f.Text += c.wrapped(f.Text, shown)
		c.keep(f)
	}
}

// atFault returns the side that is to blame; ok is false when neither end is to blame, and when it is not known which
// end is the requester. For a frame that belongs to no connection it is the side of the sender. A box in the path
// belongs to the implementation at A.
func (c *Context) atFault(who Blame) (side trace.Side, ok bool) {
	if who != Requester && who != Responder || c.Index < 0 && !c.judge.here.sent && !c.ofDevice {
		return 0, false
	}
	switch {
	case c.ofDevice:
		side = c.Req
	case c.Index < 0:
		side = c.judge.here.sender
	case who == Responder:
		side = c.Req.Other()
	default:
		side = c.Req
	}
	if box, boxed := c.hop().Box(); boxed && side == box {
		side = trace.A
	}
	return side, true
}

// hop returns the part of the path to which the connection of the trace belongs.
func (c *Context) hop() trace.Hop { return c.judge.header.On(c.Index) }

// Now returns the time of the current sight, event or end.
func (c *Context) Now() vtime.Time { return c.judge.here.at }

// Offers reports whether the trace shows all of v; for evidence that a check uses but does not need.
func (c *Context) Offers(v Vantage) bool { return c.have&v == v }

// Sole reports whether the trace has shown no requests but those of a half-conversation.
func Sole(c *Context) bool { return c.Alone && c.owner.halves[c.Index][c.Req.Other()&1] == nil }

// Rel prints p relative to the first PSN of the half-conversation: "psn=+2".
func (c *Context) Rel(p psn.PSN) string { return fmt.Sprintf("psn=%+d", p.Sub(c.Start)) }

// needNames are the names of vantage points in the reason of a verdict.
var needNames = []struct {
	bit  Vantage
	name string
}{
	{TapRequester, "the requester's tap"},
	{TapResponder, "the responder's tap"},
	{Fates, "both taps to know the fate of packets"},
	{Completions, "completion events"},
	{Stores, "placement events"},
	{Image, "a comparison of memory"},
	{Timers, "timer events"},
	{Probes, "engine variables"},
	{Bytes, "the bytes of frames"},
	{Attributes, "the QP attributes of both ends"},
	{Receives, "the receives of the responder"},
	{Done, "the completion of requests"},
	{Posted, "posts of receives"},
	{Regions, "the memory regions of the responder"},
	{Checked, "memory on completion of a receive"},
	{Ordered, "the order of completions"},
	{Changes, "memory at the start and at the end"},
	{Datagrams, "the Q_Key of the responder and the datagrams that it delivers"},
	{Flushed, "the status of all completions"},
	{Assigned, "the Spec of the run"},
	{AtDevice, "the tap at the port of the device"},
	{Configured, "the requester's qd, and the rtt, rate and message of its path"},
}

// String returns the names of v as verdicts print them: "the responder's tap, completion events".
func (v Vantage) String() string {
	var names []string
	for _, n := range needNames {
		if v&n.bit != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ", ")
}

// offered returns the vantage points that a trace with header h gives on c.
func offered(h *trace.Header, c *Conversation) (v Vantage) {
	requester, responder := told(h, c.Index, c.Req), told(h, c.Index, c.Req.Other())
	for _, o := range []struct {
		has bool
		bit Vantage
	}{
		{h.Taps[c.Req], TapRequester},
		{h.Taps[c.Req.Other()], TapResponder},
		{h.Taps[trace.A] && h.Taps[trace.B], Fates},
		{h.Reports&trace.ReportCQE != 0, Completions | Receives | Done | Posted | Ordered | Flushed},
		{requester&trace.ReportDone != 0, Done},
		{requester&trace.ReportOrdered != 0, Ordered},
		{requester&trace.ReportFlushed != 0, Flushed},
		{responder&trace.ReportPosted != 0, Posted},
		{responder&trace.ReportReceived != 0, Receives | Posted},
		{responder&trace.ReportRegions != 0, Regions},
		{responder&trace.ReportChecked != 0, Checked | Image},
		{responder&trace.ReportChanges != 0, Changes},
		{responder&trace.ReportDatagrams != 0, Datagrams},
		{h.Reports&trace.ReportStores != 0, Stores | Checked | Changes},
		{h.Reports&trace.ReportMemory != 0, Image},
		{h.Reports&trace.ReportTimers != 0, Timers},
		{h.Reports&trace.ReportProbes != 0, Probes | Regions | Datagrams},
		{h.Bytes, Bytes},
		{c.Known, Attributes},
		{c.Known && (h.Bench != trace.FileBench || configured(c.Attr)), Configured},
		{true, Frames},
	} {
		if o.has {
			v |= o.bit
		}
	}
	if c.Decoders[0] != nil && !h.Bytes {
		// without bytes the packets that the decoder recovered are unknown, and so are the requests that the responder
		// received
		v &^= TapResponder
	}
	return v
}

// configured reports whether nothing that a requester is told of its path and its queue is left open.
func configured(q *engine.QP) bool {
	return q.QueueDepth > 0 && q.Path.RTT > 0 && q.Path.Rate > 0 && q.Path.Message > 0
}

// lacks returns the vantage points that r needs and a trace with header h, which shows have, does not give. For a rule
// of Frames any tap is enough. A tap between the ports is enough for no other rule that sees packets.
func lacks(h *trace.Header, r *Rule, have Vantage) Vantage {
	missing := r.Needs &^ have
	switch {
	case r.Needs&Frames != 0:
		missing &^= Both
	case !h.Between:
	case r.Sees != 0 && r.Needs&Both == 0:
		missing |= TapRequester
	}
	return missing
}

// told returns what one end of connection i reports in addition to the reports of both ends in the header.
func told(h *trace.Header, i int, side trace.Side) trace.Reports {
	if i < 0 || i >= len(h.Conns) {
		return 0
	}
	return h.Conns[i].Ends[side].Reports
}

// ofRC is the feature of implementations of RoCEv2 reliable connections. A rule without Features applies to all of them
// and, unless it is Any, to no other transport.
const ofRC = "rc"

// AppliesTo reports whether the rule can judge an implementation that declares these features. It is false for a rule
// of devices.
func (r *Rule) AppliesTo(declared []string) bool { return !r.Device && inapplicable(r, declared) == "" }

// inapplicable returns why r does not apply to an implementation that declares these features; "" when it does.
func inapplicable(r *Rule, declared []string) string {
	var missing []string
	if len(r.Features) == 0 && !r.Any && len(declared) > 0 && !slices.Contains(declared, ofRC) {
		missing = append(missing, ofRC)
	}
	for _, f := range r.Features {
		if !slices.Contains(declared, f) {
			missing = append(missing, f)
		}
	}
	switch {
	case len(missing) > 0:
		return "needs feature " + strings.Join(missing, ", ")
	case r.Without != "" && slices.Contains(declared, r.Without):
		return "does not apply with feature " + r.Without
	}
	return ""
}
