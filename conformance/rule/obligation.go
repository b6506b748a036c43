package rule

import (
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Obligation is what one end owes because of what has been seen: an answer to a request, a NAK of a gap, a
// retransmission. Most rules are of its form: when T arises (Arise), P owes A in time (Discharge), unless U (Excuse).
// The observer keeps what is owed, oldest first. It grants the allowances of allowance.go, and reports what is overdue
// at the end, or, of an obligation that is Prompt, as soon as it is.
type Obligation struct {
	Within   vtime.Duration  // for how long its end may put it off, such as until a timer expires; 0 for an answer
	Patience vtime.Duration  // and how long it may take then: rule.Patience for whatever costs a packet
	Unless   func(Debt) bool // what excuses its end when it is overdue; nil is nothing beside the allowances
	// what is overdue is reported at once; otherwise it is discharged later too, and reported when nothing more can
	// come
	Prompt bool
	// that its QP fails frees nobody: a box has told the requester that it is done, or the failure itself asks for it
	Promised bool

	c    *Context
	by   Blame
	text string
	owed []Debt
	next *Obligation // of the same check; nil when it is the last
}

// Debt is one thing that is owed.
type Debt struct {
	PSN   psn.PSN    // of the packet that it is about
	At    vtime.Time // when it arose
	Since vtime.Time // since when the time for it runs: from At on, or from a later event
	Index uint64     // of the record that shows it
}

// mostOwed bounds what is remembered; the oldest is forgotten.
const mostOwed = 1 << 12

// Owes begins the account of what an end owes. The text says what is missing when it is overdue; a %s in it stands for
// the PSN, a %q for the opcode as well.
func (c *Context) Owes(by Blame, missing string) *Obligation {
	o := &Obligation{c: c, by: by, text: missing, Patience: Patience}
	last := &c.owes
	for *last != nil {
		last = &(*last).next
	}
	*last = o
	return o
}

// Arise notes what is owed from a sight on.
func (o *Obligation) Arise(s *Sight, about psn.PSN) { o.Owe(Debt{about, s.At, s.At, s.Index}) }

// Owe is Arise for what an earlier sight shows, or from a later moment on.
func (o *Obligation) Owe(d Debt) {
	if len(o.owed) == mostOwed {
		o.owed = slices.Delete(o.owed, 0, 1)
	}
	o.owed = append(o.owed, d)
}

// Extend is Arise for what one answer does for all: only the oldest and the newest are kept.
func (o *Obligation) Extend(s *Sight, about psn.PSN) {
	if len(o.owed) == 2 {
		o.owed = o.owed[:1]
	}
	o.Arise(s, about)
}

// Oldest returns the oldest debt; nil when nothing is owed.
func (o *Obligation) Oldest() *Debt {
	if len(o.owed) == 0 {
		return nil
	}
	return &o.owed[0]
}

// Owed reports whether something is owed.
func (o *Obligation) Owed() bool { return len(o.owed) > 0 }

// About reports whether something is owed about p.
func (o *Obligation) About(p psn.PSN) bool {
	return slices.ContainsFunc(o.owed, func(d Debt) bool { return d.PSN == p })
}

// Restart lets the time for all that is owed run from now on: what it waits for has been seen to go on.
func (o *Obligation) Restart(now vtime.Time) {
	for i := range o.owed {
		o.owed[i].Since = now
	}
}

// Discharge takes off what is owed and fits, which shows that the rule held; nil fits all. It reports whether there was
// any.
func (o *Obligation) Discharge(fits func(Debt) bool) bool {
	any := o.excuse(fits)
	if any {
		o.c.Met()
	}
	return any
}

// Settle is Discharge by what is seen now, which is reported when it is overdue.
func (o *Obligation) Settle(now vtime.Time, fits func(Debt) bool) {
	o.excuse(func(d Debt) bool {
		switch {
		case fits != nil && !fits(d):
			return false
		case !o.late(d, now):
			o.c.Met()
		case !o.excused(d):
			o.c.Failf(o.by, "%s (only %v later)", o.missing(d), now.Sub(d.At))
		}
		return true
	})
}

// Excuse takes off what fits without a judgement; nil fits all.
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

// Expire reports, oldest first, what is overdue.
func (o *Obligation) Expire(now vtime.Time) {
	for len(o.owed) > 0 && o.late(o.owed[0], now) {
		d := o.owed[0]
		o.owed = slices.Delete(o.owed, 0, 1)
		if !o.excused(d) {
			o.c.FailAt(d.At, d.Index, o.by, o.missing(d))
		}
	}
}

func (o *Obligation) late(d Debt, now vtime.Time) bool {
	return o.c.Late(o.by, d.Since.Add(o.Within), o.Patience, now)
}

func (o *Obligation) excused(d Debt) bool {
	return !o.Promised && o.c.exempt(o.by) || o.Unless != nil && o.Unless(d)
}

// missing is the text of a finding.
func (o *Obligation) missing(d Debt) string {
	if strings.Contains(o.text, "%q") {
		return strings.ReplaceAll(o.text, "%q", o.c.Request(d.PSN))
	}
	return strings.ReplaceAll(o.text, "%s", o.c.Rel(d.PSN))
}

// Close reports what is overdue and forgets the rest: it can no longer be discharged.
func (o *Obligation) Close(now vtime.Time) {
	o.Expire(now)
	o.Excuse(nil)
}

// expiring lets a check's obligations expire: those that are Prompt before whatever it is shown, all of them at the
// end.
func (c *Context) expiring(check Check) Check {
	if c.owes == nil {
		return check
	}
	sight, event, end := check.Sight, check.Event, check.End
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
	check.End = func(at vtime.Time) {
		if end != nil {
			end(at)
		}
		c.expire(at, true)
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
