package rule

import (
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// half is a half-conversation with its checks.
type half struct {
	conv   Conversation
	plan   *plan
	checks []*check // by slot; nil while one sleeps
	events []int32  // slots of those that are told of events
	both   []int32  // and of those that see both hops
}

// check is the check of one rule in one half-conversation.
type check struct {
	Check
	ctx Context
}

// start makes the checks of a half that do not sleep.
func (j *Judge) start(h *half) {
	h.plan = j.planOf(h)
	h.checks = make([]*check, h.plan.slots)
	made := make([]check, h.plan.awake)
	for _, a := range h.plan.judged {
		if a.slot >= 0 && (!h.plan.quiet || a.rule.Wakes == 0) {
			h.add(a, &made[0])
			made = made[1:]
		}
	}
}

// wake makes the checks that sleep.
func (h *half) wake() {
	if !h.plan.quiet {
		return
	}
	for _, a := range h.plan.judged {
		if a.slot >= 0 && h.checks[a.slot] == nil {
			h.add(a, &check{})
		}
	}
}

// add starts the check of one rule.
func (h *half) add(a *account, c *check) {
	c.ctx = Context{&h.conv, a, nil}
	h.checks[a.slot] = c
	defer func() {
		if p := recover(); p != nil {
			a.panicked(&h.conv, p)
		}
	}()
	c.Check = c.ctx.expiring(a.rule.New(&c.ctx))
	switch {
	case c.Event == nil:
	case a.rule.Sees&Route != 0:
		h.both = append(h.both, int32(a.slot))
	default:
		h.events = append(h.events, int32(a.slot))
	}
}

// show calls the checks of a list, and wakes those that a sight of this kind wakes; one that panics is silenced and the others go on.
func (h *half) show(list int, s *Sight, kind Kind) {
	for next := 0; next < len(h.plan.sights[list]); {
		next = h.showFrom(h.plan.sights[list], next, s, kind)
	}
}

func (h *half) showFrom(list []*account, from int, s *Sight, kind Kind) (next int) {
	next = from
	defer func() {
		if p := recover(); p != nil {
			h.silence(list[next], p)
			next++
		}
	}()
	for ; next < len(list); next++ {
		switch a := list[next]; {
		case a.slot < 0:
			if a.broken.text == "" {
				a.each.Conversation = &h.conv
				a.rule.Each(&a.each, s)
			}
		case h.checks[a.slot] == nil && a.rule.Wakes&kind == 0: // it sleeps
		default:
			if h.checks[a.slot] == nil {
				h.add(a, &check{})
			}
			if see := h.checks[a.slot].Sight; see != nil {
				see(s)
			}
		}
	}
	return next
}

// silence notes that a check panicked, and calls it no more.
func (h *half) silence(a *account, p any) {
	a.panicked(&h.conv, p)
	if a.slot >= 0 {
		h.checks[a.slot].Check = Check{}
	}
}

// tell calls the checks of a list; one that panics is silenced and the others go on.
func (h *half) tell(list []int32, e *trace.Event) {
	for next := 0; next < len(list); {
		next = h.tellFrom(list, next, e)
	}
}

func (h *half) tellFrom(list []int32, from int, e *trace.Event) (next int) {
	next = from
	defer func() {
		if p := recover(); p != nil {
			h.silence(h.checks[list[next]].ctx.account, p)
			next++
		}
	}()
	for ; next < len(list); next++ {
		if told := h.checks[list[next]].Event; told != nil {
			told(e)
		}
	}
	return next
}

// finish ends the checks.
func (h *half) finish(at vtime.Time) {
	for _, c := range h.checks {
		if c != nil && c.End != nil {
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
