package rule

import (
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Obligation is a duty that packets impose on one end: an answer to a request, a NAK of a gap, a retransmission. Most
// rules have its form: when T arises (Arise), P owes A in time (Discharge), unless U (Excuse). It keeps the open debts,
// oldest first, grants the allowances of allowance.go, and reports overdue debts at the end of the trace or, if Prompt,
// as soon as they are overdue.
type Obligation struct {
	Within   vtime.Duration  // how long the end may wait before it acts, such as a timer's period; 0 for an answer
	Patience vtime.Duration  // time to act after Within; Patience by default
	Unless   func(Debt) bool // reports that an overdue debt is excused; nil excuses none beyond the allowances
	// an overdue debt is reported at once; otherwise a late discharge still counts, and the debt is reported at the end
	Prompt bool
	// the duty survives a failure of the QP: a box has already confirmed completion to the requester, or the failure
	// itself causes the duty
	Promised bool

	by   Blame
	c    *Context
	text string
	owed []Debt
	next *Obligation // of the same check; nil when it is the last
}

// Debt is one open duty of an Obligation.
type Debt struct {
	PSN   psn.PSN    // of the packet that caused it
	At    vtime.Time // when the duty arose
	Since vtime.Time // start of the time allowed: At, or a later event
	Index uint64     // of the record that shows that it arose
}

// mostOwed bounds the open debts; beyond it the oldest is dropped.
const mostOwed = 1 << 12

// Owes returns a new Obligation of an end. Missing is the text of the finding for an overdue debt; %s in it stands for
// the PSN, %q for opcode and PSN.
func (c *Context) Owes(by Blame, missing string) *Obligation {
	o := &Obligation{c: c, by: by, text: missing, Patience: Patience}
	last := &c.owes
	for *last != nil {
		last = &(*last).next
	}
	*last = o
	return o
}

// Arise adds a debt that a sight causes, about a PSN. A responder owes nothing for a request that it may have dropped,
// because it did not keep what came early.
func (o *Obligation) Arise(s *Sight, about psn.PSN) {
	if o.by != Responder || !mayDrop(o.c.Conversation, s) {
		o.Owe(Debt{about, s.At, s.At, s.Index})
	}
}

// Owe adds a debt that an earlier sight caused, or whose time runs from a later event.
func (o *Obligation) Owe(d Debt) {
	if len(o.owed) == mostOwed {
		o.owed = slices.Delete(o.owed, 0, 1)
	}
	o.owed = append(o.owed, d)
}

// Extend is Arise for debts that one answer discharges together: it keeps only the oldest and the newest.
func (o *Obligation) Extend(s *Sight, about psn.PSN) {
	if len(o.owed) == 2 {
		o.owed = o.owed[:1]
	}
	o.Arise(s, about)
}

// Oldest returns the oldest debt; nil when there is none.
func (o *Obligation) Oldest() *Debt {
	if len(o.owed) == 0 {
		return nil
	}
	return &o.owed[0]
}

// Owed reports whether there is a debt.
func (o *Obligation) Owed() bool { return len(o.owed) > 0 }

// About reports whether there is a debt about p.
func (o *Obligation) About(p psn.PSN) bool {
	return slices.ContainsFunc(o.owed, func(d Debt) bool { return d.PSN == p })
}

// Restart restarts the time of every debt at now, because the end has made progress.
func (o *Obligation) Restart(now vtime.Time) {
	for i := range o.owed {
		o.owed[i].Since = now
	}
}

// Discharge removes the debts that fit, for which the rule held; nil fits all. It reports whether it removed any.
func (o *Obligation) Discharge(fits func(Debt) bool) bool {
	any := o.excuse(fits)
	if any {
		o.c.Met()
	}
	return any
}

// Settle discharges the debts that fit by a packet seen at now, and reports those that were overdue by then.
func (o *Obligation) Settle(now vtime.Time, fits func(Debt) bool) {
	o.excuse(func(d Debt) bool {
		switch {
		case fits != nil && !fits(d):
			return false
		case !o.late(d, now):
			o.c.Met()
		case !o.excused(d, now):
			o.c.Failf(o.by, "%s (seen %v later, which is too late)", o.missing(d), now.Sub(d.At))
		}
		return true
	})
}

// Excuse removes the debts that fit without a judgement; nil fits all.
func (o *Obligation) Excuse(fits func(Debt) bool) { o.excuse(fits) }

func (o *Obligation) excuse(fits func(Debt) bool) bool {
	n := len(o.owed)
	if fits == nil {
		o.owed = o.owed[:0]
	} else if n > 0 {
		o.owed = slices.DeleteFunc(o.owed, fits)
	}
	return len(o.owed) < n
}

// Expire removes and reports overdue debts, oldest first.
func (o *Obligation) Expire(now vtime.Time) {
	for len(o.owed) > 0 && o.late(o.owed[0], now) {
		d := o.owed[0]
		o.owed = slices.Delete(o.owed, 0, 1)
		if !o.excused(d, now) {
			o.c.FailAt(d.At, d.Index, o.by, o.missing(d))
		}
	}
}

func (o *Obligation) late(d Debt, now vtime.Time) bool {
	return o.c.Late(o.by, d.Since.Add(o.Within), o.Patience, now)
}

// excused reports whether an overdue debt is no violation at now. What may be done late may still have been to come
// when the end gave up.
func (o *Obligation) excused(d Debt, now vtime.Time) bool {
	c := o.c
	dead := c.exempt(o.by) || !o.Prompt && mayHaveGivenUp(c.Conversation, sideOf(c.Conversation, o.by), now)
	return dead && !o.Promised || o.Unless != nil && o.Unless(d)
}

// missing returns the text of the finding for d.
func (o *Obligation) missing(d Debt) string {
	if strings.Contains(o.text, "%q") {
		return strings.ReplaceAll(o.text, "%q", o.c.Request(d.PSN))
	}
	return strings.ReplaceAll(o.text, "%s", o.c.Rel(d.PSN))
}

// Close reports overdue debts and drops the others, which nothing can discharge any more.
func (o *Obligation) Close(now vtime.Time) {
	o.Expire(now)
	o.Excuse(nil)
}

// prompting wraps check so that its Prompt obligations expire before each sight and event.
func (c *Context) prompting(check Check) Check {
	sight, event := check.Sight, check.Event
	prompt := false
	for o := c.owes; o != nil; o = o.next {
		prompt = prompt || o.Prompt
	}
	if prompt {
		check.Sight = func(s *Sight) { c.expire(s.At, false); sight(s) }
		if event != nil {
			check.Event = func(e *trace.Event) { c.expire(e.At, false); event(e) }
		}
	}
	return check
}

func (c *Context) expire(now vtime.Time, all bool) {
	for o := c.owes; o != nil; o = o.next {
		if all || o.Prompt {
			o.Expire(now)
		}
	}
}
