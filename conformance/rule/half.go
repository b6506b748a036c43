package rule

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// half is a half-conversation with its checks.
type half struct {
	conv   Conversation
	plan   *plan
	roused Kind    // the kinds of sight that have come, restricted to those that wake a check
	checks []check // checks constructed with the half
	states []any   // of the rules that keep a State, by slot; nil before a rule asks for it
	*attention
}

// attention is what a half has in addition to see events, and more than ordinary packets. Without these it is
// plan.inattention, which is empty.
type attention struct {
	woken  []*check            // checks constructed when a sight wakes them, by slot; nil before the first
	events []*check            // checks that events of the connection are passed to
	both   []*check            // checks with Event that see both hops; not in events
	wakers map[*account]func() // Check.Wake of the checks that doze
}

// check is the check of one rule in one half-conversation.
type check struct {
	running
	ctx Context
}

// running holds the functions of a Check that are called repeatedly.
type running struct {
	Sight func(s *Sight)
	Event func(e *trace.Event)
	End   func(at vtime.Time)
}

// open begins the conversation at the PSN of its first sight, when that is a request. Until the first request a
// response tells about where it is, for the checks that are made before.
func (h *half) open(s *Sight, list int) {
	c := &h.conv
	sent := list == int(trace.RequesterOut)
	arrived := list == int(trace.ResponderIn) && s.Intact() && c.Addressed(s)
	switch {
	case c.Started:
	case sent || arrived:
		c.begin(s.Pkt.PSN)
	case s.Intact() && s.Pkt.Opcode.IsResponse() && !s.Pkt.Opcode.NumberedApart():
		c.begin(s.Pkt.PSN)
		c.Started = false
	}
}

// start constructs the checks of a half that do not sleep, unless that has been done.
func (j *Judge) start(h *half) {
	if h.plan != nil {
		return
	}
	h.plan = j.planOf(h)
	h.attention = &h.plan.inattention
	h.checks = make([]check, h.plan.awake)
	h.states = make([]any, h.plan.keeping)
	for _, a := range h.plan.judged {
		if a.slot.life == awake {
			h.add(a, &h.checks[a.slot.at])
		}
	}
}

// rouse wakes the checks that sleep or doze until a sight of one of kinds.
func (h *half) rouse(kinds Kind) {
	for _, a := range h.plan.judged {
		if a.wakes&kinds == 0 || a.wakes&h.roused != 0 {
			continue
		}
		if c := h.at(a.slot); c == nil {
			h.wake(a)
		} else if wake := h.wakers[a]; wake != nil {
			wake()
		}
	}
	h.roused |= kinds & h.plan.wakes
}

// wake constructs a check that sleeps.
func (h *half) wake(a *account) {
	if w := h.attend(); w.woken == nil {
		w.woken = make([]*check, h.plan.asleep)
	}
	c := &check{}
	h.woken[a.slot.at] = c
	h.add(a, c)
}

// at returns the check of a slot; nil while it sleeps, and for a rule that has none.
func (h *half) at(s slot) *check {
	switch {
	case s.life == awake:
		return &h.checks[s.at]
	case s.life == asleep && h.woken != nil:
		return h.woken[s.at]
	}
	return nil
}

// add constructs the check of one rule.
func (h *half) add(a *account, c *check) {
	c.ctx = Context{&h.conv, a, nil}
	defer func() {
		if p := recover(); p != nil {
			a.panicked(&h.conv, p)
		}
	}()
	made := c.ctx.prompting(a.rule.New(&c.ctx))
	c.running = running{made.Sight, made.Event, made.End}
	if made.Wake != nil && a.slot.life == awake && a.wakes != 0 {
		w := h.attend()
		if w.wakers == nil {
			w.wakers = map[*account]func(){}
		}
		w.wakers[a] = made.Wake
	}
	switch {
	case c.Event == nil:
	case a.rule.Sees&Route != 0:
		h.attend().both = append(h.both, c)
	default:
		h.attend().events = append(h.events, c)
	}
}

// attend returns the attention of this half, to be added to.
func (h *half) attend() *attention {
	if h.attention == &h.plan.inattention {
		h.attention = new(attention)
	}
	return h.attention
}

// show wakes checks by the kind of a sight, and calls the checks of a list that mind the kind. A check that panics is
// silenced, and the others are still called.
func (h *half) show(list int, s *Sight, kind Kind) {
	h.showFrames(h.plan.frames[list], s)
	h.showSight(list, s, kind)
}

// showSight is show without the rules of frames.
func (h *half) showSight(list int, s *Sight, kind Kind) {
	if fresh := kind & h.plan.wakes &^ h.roused; fresh != 0 {
		h.rouse(fresh)
	}
	h.showAll(h.plan.menu(list, kind, h.roused), s)
}

func (h *half) showAll(list []caller, s *Sight) {
	for next := 0; next < len(list); {
		next = h.showFrom(list, next, s)
	}
}

func (h *half) showFrom(list []caller, from int, s *Sight) (next int) {
	next = from
	defer func() {
		if p := recover(); p != nil {
			h.silence(list[next].account, p)
			next++
		}
	}()
	for ; next < len(list); next++ {
		a := &list[next]
		if a.each != nil {
			a.each(h.contextOf(a.account), s)
		} else if c := h.at(a.slot); c.Sight != nil {
			c.Sight(s)
		}
	}
	return next
}

// contextOf returns the Context in which a rule with an Each judges this half.
func (h *half) contextOf(a *account) *Context {
	a.each.Conversation = &h.conv
	if a.slot.life == keeping {
		a.state = &h.states[a.slot.at]
	}
	return &a.each
}

// silence records that a check panicked, and stops calling it.
func (h *half) silence(a *account, p any) {
	a.panicked(&h.conv, p)
	if c := h.at(a.slot); c != nil {
		c.running, c.ctx.owes = running{}, nil
		return
	}
	a.judge.alikes.countAll()
	a.judge.alikes = alikes{}
	h.plan.told = slices.DeleteFunc(slices.Clone(h.plan.told), func(b *account) bool { return a == b })
	h.plan.menus = [points][]menu{}
	for _, calls := range [][points][]caller{h.plan.frames, h.plan.sights} {
		for list := range calls {
			for i := range calls[list] {
				if c := &calls[list][i]; c.account == a {
					c.each = func(*Context, *Sight) {}
				}
			}
		}
	}
}

// inform passes an event to the rules with Told. One that panics is silenced, and the others are still called.
func (h *half) inform(e *trace.Event) {
	for _, a := range h.plan.told {
		h.informOf(a, e)
	}
}

func (h *half) informOf(a *account, e *trace.Event) {
	defer func() {
		if p := recover(); p != nil {
			h.silence(a, p)
		}
	}()
	a.rule.Told(h.contextOf(a), e)
}

// tell passes an event to the checks of a list. A check that panics is silenced, and the others are still called.
func (h *half) tell(list []*check, e *trace.Event) {
	for next := 0; next < len(list); {
		next = h.tellFrom(list, next, e)
	}
}

func (h *half) tellFrom(list []*check, from int, e *trace.Event) (next int) {
	next = from
	defer func() {
		if p := recover(); p != nil {
			h.silence(list[next].ctx.account, p)
			next++
		}
	}()
	for ; next < len(list); next++ {
		if told := list[next].Event; told != nil {
			told(e)
		}
	}
	return next
}

// finish ends every check: it calls End, and then all obligations expire.
func (h *half) finish(at vtime.Time) {
	for _, a := range h.plan.judged {
		if c := h.at(a.slot); c != nil {
			h.end(c, at)
		}
	}
}

func (h *half) end(c *check, at vtime.Time) {
	defer func() {
		if p := recover(); p != nil {
			h.silence(c.ctx.account, p)
		}
	}()
	if c.End != nil {
		c.End(at)
	}
	c.ctx.expire(at, true)
}
