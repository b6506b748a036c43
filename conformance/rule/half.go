package rule

import (
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// half is a half-conversation with its checks.
type half struct {
	conv   Conversation
	plan   *plan
	checks []check  // those that live as long as it
	woken  []*check // the others, once they are awake; nil before the first is
	events []*check // those that are told of events
	both   []*check // and of those, the ones that see both hops
}

// check is the check of one rule in one half-conversation.
type check struct {
	Check
	dozes bool // until a sight of a kind that wakes it
	ctx   Context
}

// rouse reports whether a sight of a kind wakes a check that dozes.
func (c *check) rouse(wakes, kind Kind) bool {
	if wakes&kind == 0 {
		return false
	}
	if c.dozes = false; c.Wake != nil {
		c.Wake()
	}
	return true
}

// open begins the conversation with the first sight, when it is a request: whoever follows the PSNs starts where they do.
func (h *half) open(s *Sight, list int) {
	c := &h.conv
	sent := list == int(trace.RequesterOut)
	arrived := list == int(trace.ResponderIn) && s.Intact() && c.Addressed(s)
	if !c.Started && (sent || arrived) {
		c.begin(s.Pkt.PSN)
	}
}

// start makes the checks of a half that do not sleep, unless it has them.
func (j *Judge) start(h *half) {
	if h.plan != nil {
		return
	}
	h.plan = j.planOf(h)
	h.checks = make([]check, h.plan.awake)
	for _, a := range h.plan.judged {
		if a.slot.life == awake {
			h.add(a, &h.checks[a.slot.at])
			h.checks[a.slot.at].dozes = a.rule.Dozes
		}
	}
}

// wakeAll makes the checks that sleep.
func (h *half) wakeAll() {
	for _, a := range h.plan.judged {
		if a.slot.life == asleep && h.at(a.slot) == nil {
			h.wake(a)
		}
	}
}

// wake makes a check that sleeps.
func (h *half) wake(a *account) *check {
	if h.woken == nil {
		h.woken = make([]*check, h.plan.asleep)
	}
	c := &check{}
	h.woken[a.slot.at] = c
	h.add(a, c)
	return c
}

// at returns a check; nil while it sleeps, and where there is none.
func (h *half) at(s slot) *check {
	switch {
	case s.life == awake:
		return &h.checks[s.at]
	case s.life == asleep && h.woken != nil:
		return h.woken[s.at]
	}
	return nil
}

// add starts the check of one rule.
func (h *half) add(a *account, c *check) {
	c.ctx = Context{&h.conv, a, nil}
	defer func() {
		if p := recover(); p != nil {
			a.panicked(&h.conv, p)
		}
	}()
	c.Check = c.ctx.expiring(a.rule.New(&c.ctx))
	switch {
	case c.Event == nil:
	case a.rule.Sees&Route != 0:
		h.both = append(h.both, c)
	default:
		h.events = append(h.events, c)
	}
}

// show calls the checks of a list, and wakes those that a sight of this kind wakes; one that panics is silenced and the others go on.
func (h *half) show(list int, s *Sight, kind Kind) {
	h.showAll(h.plan.frames[list], s, kind)
	h.showAll(h.plan.minding(list, kind), s, kind)
}

func (h *half) showAll(list []caller, s *Sight, kind Kind) {
	for next := 0; next < len(list); {
		next = h.showFrom(list, next, s, kind)
	}
}

func (h *half) showFrom(list []caller, from int, s *Sight, kind Kind) (next int) {
	next = from
	defer func() {
		if p := recover(); p != nil {
			h.silence(list[next].account, p)
			next++
		}
	}()
	for ; next < len(list); next++ {
		a := &list[next]
		var c *check
		switch a.slot.life {
		case stateless:
			a.account.each.Conversation = &h.conv
			a.each(&a.account.each, s)
			continue
		case awake:
			if c = &h.checks[a.slot.at]; c.dozes && !c.rouse(a.wakes, kind) {
				continue
			}
		case asleep:
			if c = h.at(a.slot); c == nil && a.wakes&kind != 0 {
				c = h.wake(a.account)
			}
		}
		if c != nil && c.Sight != nil {
			c.Sight(s)
		}
	}
	return next
}

// silence notes that a check panicked, and calls it no more.
func (h *half) silence(a *account, p any) {
	a.panicked(&h.conv, p)
	if c := h.at(a.slot); c != nil {
		c.Check = Check{}
		return
	}
	a.judge.alikes.countAll()
	a.judge.alikes = alikes{}
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

// tell calls the checks of a list; one that panics is silenced and the others go on.
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

// finish ends the checks.
func (h *half) finish(at vtime.Time) {
	for _, a := range h.plan.judged {
		if c := h.at(a.slot); c != nil && c.End != nil {
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
	c.End(at)
}
