package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Context is what a check has in hand: the half-conversation it judges, and the means to report.
type Context struct {
	*Conversation
	*account
	owes *Obligation // the first obligation of the check; nil when it has none
}

// place is what is being looked at, shared by all checks of a Judge.
type place struct {
	at     vtime.Time
	record uint64
	sender trace.Side // of the packet that is being looked at, where there is one and an endpoint sent it
	sent   bool       // there is
}

// DefaultFindings bounds the findings of a rule, and so what one check keeps; the count goes on.
const DefaultFindings = 5

// Doubt says that something was seen for which another party may be to blame than the one that the rule speaks of:
// unless it is broken elsewhere, the rule is inconclusive, and this is why.
func (c *Context) Doubt(text string) {
	c.said++
	c.doubt.note(c.Conversation, text)
}

// Met says that the situation the rule speaks of has arisen.
func (c *Context) Met() { c.met++ }

// Fail reports a violation shown by the current sight or event. It implies Met.
func (c *Context) Fail(who Blame, text string) {
	c.FailAt(c.judge.here.at, c.judge.here.record, who, text)
}

// Failf is Fail with a formatted text.
func (c *Context) Failf(who Blame, format string, args ...any) {
	c.Fail(who, fmt.Sprintf(format, args...))
}

// FailAt reports a violation shown by an earlier record, as when something that had to follow never came. The text says
// what was expected and what was seen; what packet it is, and that the PSNs wrap between those that the text names, is
// added here.
func (c *Context) FailAt(at vtime.Time, record uint64, who Blame, text string) {
	if !proves(c, at, who) {
		c.Doubt(unsure)
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
	if c.keeps(&f) {
		name, shown := c.judge.seen.name(record, c.Start)
		f.Packet, f.Text = name, text+c.wrapped(text, shown)
		c.keep(f)
	}
}

// atFault returns the side that is to blame; ok is false when it is neither, and when nobody knows who is the
// requester. Of a frame that belongs to no connection it is the sender's. A box in the path is of the implementation at
// A.
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

// hop is the part of the path that the connection is.
func (c *Context) hop() trace.Hop { return c.judge.header.On(c.Index) }

// Now returns the time of the current sight, event or end.
func (c *Context) Now() vtime.Time { return c.judge.here.at }

// Offers reports whether the trace shows all of v, for what a check can use and does not need.
func (c *Context) Offers(v Vantage) bool { return c.have&v == v }

// Rel prints p relative to the first PSN of the half-conversation: "psn=+2".
func (c *Context) Rel(p psn.PSN) string { return fmt.Sprintf("psn=%+d", p.Sub(c.Start)) }

// needNames says what is missing, for the verdict's reason.
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
	{Done, "that requests have completed"},
	{Posted, "the receives that are posted"},
	{Regions, "the memory regions of the responder"},
	{Checked, "memory when a receive has completed"},
	{Ordered, "the order of completions"},
	{Changes, "memory as it was at the start and at the end"},
	{Datagrams, "the Q_Key of the responder and what it delivers"},
	{Flushed, "the status of all completions"},
	{Assigned, "the Spec of the run"},
	{AtDevice, "the tap at the port of the device"},
}

// String lists what is in v, as verdicts print it: "the responder's tap, completion events".
func (v Vantage) String() string {
	var names []string
	for _, n := range needNames {
		if v&n.bit != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ", ")
}

// offered returns what a trace with header h shows of c.
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
		{true, Frames},
	} {
		if o.has {
			v |= o.bit
		}
	}
	if c.Decoders[0] != nil && !h.Bytes {
		v &^= TapResponder // without bytes nobody knows what was recovered, and so what the responder received
	}
	return v
}

// lacks returns what r needs and a trace with header h that shows have does not. Any tap will do for rules of Frames,
// and one between the ports for no other that sees packets.
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

// told is what one end of connection i reports, beside what both do.
func told(h *trace.Header, i int, side trace.Side) trace.Reports {
	if i < 0 || i >= len(h.Conns) {
		return 0
	}
	return h.Conns[i].Ends[side].Reports
}

// ofRC is the feature of implementations that speak RoCEv2 over reliable connections. A rule that asks for no feature
// is a rule for all of them, and for no other transport.
const ofRC = "rc"

// AppliesTo reports whether the rule can judge an implementation that declares these features. A rule of devices judges
// none.
func (r *Rule) AppliesTo(declared []string) bool { return !r.Device && inapplicable(r, declared) == "" }

// inapplicable says why r does not apply to an implementation that declares these features; "" when it does.
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
