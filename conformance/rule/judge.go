package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Options of a Judge.
type Options struct {
	Features []string // what the implementation declares; rules that need another feature are not applicable
}

// Judge runs rules over one trace. It is a trace.Viewer; trace.NewTimeline feeds it from records.
//
// Every connection has two half-conversations, one per requester, and every rule a check of its own in each, made when
// the half's first packet or work request is seen. What belongs to no connection goes to a conversation with Index -1,
// in which only rules that see Foreign have a check.
type Judge struct {
	header trace.Header
	rules  []Rule
	opts   Options
	halves [][2]*half // by connection and requester
	stray  *half
	here   place
	sight  Sight
}

// half is a half-conversation with its checks.
type half struct {
	conv    Conversation
	started bool
	sights  [points][]onSight
	events  []onEvent
	checks  []check // by rule
	missing []Vantage
}

// The lists of checks, one per Class bit: the four trace.Points come first.
const (
	listForeign    = 4
	listReadAckOut = 5
	listReadAckIn  = 6
	listReleaseIn  = 7
	points         = 8
)

type onSight struct {
	rule int
	call func(*Sight)
}

type onEvent struct {
	rule int
	call func(*trace.Event)
}

type check struct {
	ctx *Context
	end func(vtime.Time)
}

// NewJudge returns a judge of a trace with header h. The rules are only read.
func NewJudge(h trace.Header, rules []Rule, opts Options) *Judge {
	j := &Judge{header: h, rules: rules, opts: opts, halves: make([][2]*half, len(h.Conns))}
	for i := range h.Conns {
		for side := range j.halves[i] {
			j.halves[i][side] = &half{}
			c := &j.halves[i][side].conv
			c.reset(i, trace.Side(side), &h.Conns[i])
			c.responder.keep.reach = keepReach(c, opts.Features)
			c.responder.keep.rising = slices.Contains(opts.Features, KeepsNewest)
		}
	}
	j.stray = &half{}
	j.stray.conv.reset(-1, trace.A, &trace.Conn{})
	return j
}

// start makes the checks of a half.
func (j *Judge) start(h *half) {
	h.started = true
	h.checks, h.missing = make([]check, len(j.rules)), make([]Vantage, len(j.rules))
	have := offered(&j.header, &h.conv)
	if h == j.stray {
		have |= Both
	}
	for i := range j.rules {
		r := &j.rules[i]
		h.missing[i] = r.Needs &^ have
		if r.New == nil || r.Unbuilt != "" || h.missing[i] != 0 || len(undeclared(r, j.opts.Features)) > 0 ||
			h == j.stray && r.Sees&Foreign == 0 {
			continue
		}
		ctx := &Context{Conversation: &h.conv, rule: r, have: have, here: &j.here}
		h.add(i, ctx)
	}
}

// add starts the check of one rule and lists it where it wants to be called.
func (h *half) add(i int, ctx *Context) {
	defer func() {
		if p := recover(); p != nil {
			ctx.broken = fmt.Sprint(p)
		}
	}()
	h.checks[i].ctx = ctx
	c := ctx.rule.New(ctx)
	h.checks[i].end = c.End
	for point := range h.sights {
		if c.Sight != nil && ctx.rule.Sees&(1<<point) != 0 {
			h.sights[point] = append(h.sights[point], onSight{i, c.Sight})
		}
	}
	if c.Event != nil {
		h.events = append(h.events, onEvent{i, c.Event})
	}
}

// Sight implements trace.Viewer.
func (j *Judge) Sight(t *trace.Sight) {
	h, list := j.place(t)
	if !h.started {
		j.start(h)
	}
	s := &j.sight
	s.Sight = *t
	j.here = place{t.At, t.Index}
	if list == listForeign {
		s.clear()
		h.show(h.sights[list], s)
		return
	}
	h.conv.observe(s)
	h.show(h.sights[list], s)
	h.conv.update(s)
	for s.Legal && h.conv.release(s) {
		j.here.record = s.Index
		h.show(h.sights[listReleaseIn], s)
		h.conv.update(s)
	}
}

// place classifies a sight: its half-conversation, and the list of checks that see it. The packet as sent decides, so
// that a corrupted copy stays with what it was a copy of.
func (j *Judge) place(t *trace.Sight) (h *half, list int) {
	r := t.Rec
	o := r.Packet.Opcode
	if r.Conn < 0 || r.Conn >= len(j.halves) || r.Defect != "" || !ofConnection(o) {
		j.sight.Point = trace.RequesterOut
		if !t.Out {
			j.sight.Point = trace.ResponderIn
		}
		if r.Conn < 0 || r.Conn >= len(j.halves) {
			return j.stray, listForeign
		}
		return j.halves[r.Conn][r.From&1], listForeign
	}
	switch {
	case o.IsRequest(), o.IsReadAck():
		h, j.sight.Point = j.halves[r.Conn][r.From&1], trace.RequesterOut
	default:
		h, j.sight.Point = j.halves[r.Conn][r.From&1^1], trace.ResponderOut
	}
	if !t.Out {
		j.sight.Point++
	}
	list = int(j.sight.Point)
	if o.IsReadAck() {
		list += listReadAckOut
	}
	return h, list
}

// show calls the checks of a list; one that panics is silenced and the others go on.
func (h *half) show(list []onSight, s *Sight) {
	for next := 0; next < len(list); {
		next = h.showFrom(list, next, s)
	}
}

func (h *half) showFrom(list []onSight, from int, s *Sight) (next int) {
	next = from
	defer func() {
		if p := recover(); p != nil {
			h.silence(list[next].rule, p)
			next++
		}
	}()
	for ; next < len(list); next++ {
		list[next].call(s)
	}
	return next
}

// silence takes a check that panicked out of every list, keeping the order of the others.
func (h *half) silence(rule int, p any) {
	h.checks[rule].ctx.broken = fmt.Sprint(p)
	h.checks[rule].end = nil
	for point := range h.sights {
		for i := range h.sights[point] {
			if h.sights[point][i].rule == rule {
				h.sights[point][i].call = func(*Sight) {}
			}
		}
	}
	for i := range h.events {
		if h.events[i].rule == rule {
			h.events[i].call = func(*trace.Event) {}
		}
	}
}

// Event implements trace.Viewer. An event is shown to both half-conversations of its connection, as far as they have
// begun: Conversation.Mine tells whose it is.
func (j *Judge) Event(e *trace.Event) {
	j.here = place{e.At, NoRecord}
	if e.Conn < 0 || e.Conn >= len(j.halves) {
		j.report(j.stray, e)
		return
	}
	for side := range j.halves[e.Conn] {
		if h := j.halves[e.Conn][side]; !h.started && begins(e, trace.Side(side)) {
			j.start(h)
		}
	}
	for side := range j.halves[e.Conn] {
		if h := j.halves[e.Conn][side]; h.started {
			j.report(h, e)
		}
	}
}

// begins reports whether e begins the half-conversation of requester side: work of its own, a receive of its peer's, or
// what either end declares.
func begins(e *trace.Event, side trace.Side) bool {
	switch e.Kind {
	case trace.Post, trace.CQE:
		return e.Side == side
	case trace.Receive, trace.Recv:
		return e.Side != side
	}
	return e.Kind == trace.Probe
}

func (j *Judge) report(h *half, e *trace.Event) {
	if !h.started {
		j.start(h)
	}
	for next := 0; next < len(h.events); {
		next = h.reportFrom(next, e)
	}
	h.conv.event(e)
}

func (h *half) reportFrom(from int, e *trace.Event) (next int) {
	next = from
	defer func() {
		if p := recover(); p != nil {
			h.silence(h.events[next].rule, p)
			next++
		}
	}()
	for ; next < len(h.events); next++ {
		h.events[next].call(e)
	}
	return next
}

// End implements trace.Viewer.
func (j *Judge) End(at vtime.Time) {
	j.here = place{at, NoRecord}
	for h := range j.each {
		for i := range h.checks {
			if end := h.checks[i].end; end != nil {
				h.finish(i, end, at)
			}
		}
	}
}

func (h *half) finish(rule int, end func(vtime.Time), at vtime.Time) {
	defer func() {
		if p := recover(); p != nil {
			h.silence(rule, p)
		}
	}()
	end(at)
}

// each yields the halves that have begun, in the order of connections.
func (j *Judge) each(yield func(*half) bool) {
	for i := range j.halves {
		for _, h := range j.halves[i] {
			if h.started && !yield(h) {
				return
			}
		}
	}
	if j.stray.started {
		yield(j.stray)
	}
}

// Verdicts returns one verdict per rule, in the order in which the rules were given.
func (j *Judge) Verdicts() []Verdict {
	all := make([]Verdict, len(j.rules))
	for i := range j.rules {
		all[i] = j.verdict(i)
	}
	return all
}

func (j *Judge) verdict(i int) Verdict {
	r := &j.rules[i]
	v := newVerdict(r)
	if features := undeclared(r, j.opts.Features); len(features) > 0 {
		v.Status, v.Reason = NotApplicable, "needs feature "+strings.Join(features, ", ")
		return v
	}
	if r.Unbuilt != "" || r.New == nil {
		v.Status, v.Reason = Inconclusive, "not judged: "+r.Unbuilt
		return v
	}
	var missing Vantage
	for h := range j.each {
		if h != j.stray {
			missing |= h.missing[i]
		}
		if ctx := h.checks[i].ctx; ctx != nil {
			v.add(ctx)
		}
	}
	v.settle(r, missing)
	return v
}
