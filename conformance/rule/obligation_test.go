package rule

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// owing is the context of a check whose responder owes an answer, on a line of 100 Mb/s that two QPs share: a turn
// takes 361 us.
func owing() (*Context, *Obligation) {
	h := header(100*unit.Mbps, 2, true)
	port := newPort(h, trace.A)
	c := &Context{Conversation: &Conversation{Port: &Port{}, PeerPort: &port, turns: new([2]turn), Started: true},
		account: &account{rule: &Rule{ID: "X"}, judge: &Judge{opts: Options{Findings: 5}}}}
	return c, c.Owes(Responder, "no answer to %s")
}

func at(d vtime.Duration) *Sight { return &Sight{Sight: trace.Sight{At: vtime.Time(d), Index: 7}} }

// TestObligationExpires: an answer owed since 0 is overdue or not, for each allowance.
func TestObligationExpires(t *testing.T) {
	const ms, us = vtime.Millisecond, vtime.Microsecond
	busy := func(c *Context, until vtime.Duration) {
		for at := 150 * us; at <= until; at += 150 * us {
			c.PeerPort.sent(vtime.Time(at), 1024)
		}
		c.PeerPort.since = 0
	}
	for _, x := range []struct {
		name  string
		do    func(c *Context, o *Obligation)
		now   vtime.Duration
		found int
	}{
		{"too early", func(*Context, *Obligation) {}, 9 * ms, 0},
		{"overdue", func(*Context, *Obligation) {}, 10 * ms, 1},
		{"discharged", func(_ *Context, o *Obligation) { o.Discharge(nil) }, 10 * ms, 0},
		{"its time runs later", func(_ *Context, o *Obligation) { o.Restart(vtime.Time(5 * ms)) }, 14 * ms, 0},
		{"and runs out", func(_ *Context, o *Obligation) { o.Restart(vtime.Time(5 * ms)) }, 15 * ms, 1},
		{"to be put off", func(_ *Context, o *Obligation) { o.Within = 20 * ms }, 29 * ms, 0},
		{"behind data of a READ", func(c *Context, _ *Obligation) { c.data = vtime.Time(8 * ms) }, 17 * ms, 0},
		{"the line is busy, and it is the turn of another QP", func(c *Context, _ *Obligation) {
			busy(c, 12*ms)
			c.turns[1].at = vtime.Time(12*ms - 300*us)
		}, 12 * ms, 0},
		{"the QP lets its turn go by", func(c *Context, _ *Obligation) {
			busy(c, 12*ms)
			c.turns[1].at = vtime.Time(12*ms - 400*us)
		}, 12 * ms, 1},
		{"the QP failed", func(c *Context, _ *Obligation) { c.Fatal = true }, 10 * ms, 0},
		{"the rule says unless",
			func(_ *Context, o *Obligation) { o.Unless = func(Debt) bool { return true } }, 10 * ms, 0},
	} {
		c, o := owing()
		o.Arise(at(0), 3)
		x.do(c, o)
		if o.Expire(vtime.Time(x.now)); c.total != x.found {
			t.Errorf("%s: %d findings, want %d", x.name, c.total, x.found)
		}
		if x.found > 0 && (c.findings[0].Record != 7 || c.findings[0].Text != "no answer to psn=+3") {
			t.Errorf("%s: %+v", x.name, c.findings[0])
		}
	}
}

// TestObligationSettles: an obligation met in time meets the rule, and one met late is reported when it is met.
func TestObligationSettles(t *testing.T) {
	const ms = vtime.Millisecond
	c, o := owing()
	o.Arise(at(0), 1)
	o.Arise(at(5*ms), 2)
	if o.Settle(vtime.Time(12*ms), nil); c.met != 2 || c.total != 1 || o.Owed() {
		t.Fatalf("met %d, found %d, owed %v", c.met, c.total, o.owed)
	}
	if text := c.findings[0].Text; text != "no answer to psn=+1 (seen 12ms later, which is too late)" {
		t.Error(text)
	}
}

// TestObligationIsBounded: the oldest obligation is forgotten and never reported.
func TestObligationIsBounded(t *testing.T) {
	_, o := owing()
	for i := range mostOwed + 5 {
		o.Arise(at(vtime.Duration(i)), 0)
	}
	if len(o.owed) != mostOwed || o.Oldest().At != 5 {
		t.Errorf("%d owed, from %v on", len(o.owed), o.Oldest().At)
	}
}

// TestPrompting: a Prompt obligation is reported as soon as it is overdue, others when the check ends.
func TestPrompting(t *testing.T) {
	c, o := owing()
	p := c.Owes(Responder, "promptly")
	p.Prompt = true
	made := c.prompting(Check{Sight: func(*Sight) {}})
	h, check := &half{}, &check{running{Sight: made.Sight}, *c}
	o.Arise(at(0), 0)
	p.Arise(at(0), 0)
	if check.Sight(at(vtime.Second)); c.total != 1 || p.Owed() {
		t.Fatalf("%d findings at a sight", c.total)
	}
	if h.end(check, vtime.Time(vtime.Second)); c.total != 2 {
		t.Errorf("%d findings at the end", c.total)
	}
}
