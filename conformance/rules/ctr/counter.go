package ctr

import (
	"cmp"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// span is by how much a counter must have moved: at least low, and high at most.
type span struct{ low, high int64 }

// The spans of one thing that a device must count, of one that it may count or not, and of one that it does not.
var (
	surely  = span{1, 1}
	perhaps = span{0, 1}
	never   = span{}
)

// counter is a counter that a driver documents, with the packets or endings that move it.
type counter struct {
	name string // as trace.Counter has it
	and  string // another one that counts the rest of the same; "" is none
	with string // only a device that has this one as well is meant; "" is any
	doc  string // where it is documented
	says string // the documentation's definition of its count
	open bool   // frames that are not RoCE move it as well
	unit int64  // by how much a frame that nobody saw may have moved it; 0 is 1

	count  func(*rule.Sight) span        // by how much a packet at the port moves it
	start  func() func(*rule.Sight) span // makes such a function, where it has to remember what it has seen
	ending func(*ledger) span            // by how much it has moved when all has been seen
}

// moved makes the rule that some counters move as their definitions say.
func moved(r rule.Rule, list ...counter) rule.Rule {
	r.Device, r.Needs, r.Sees = true, rule.AtDevice, rule.AllSights
	r.Rests |= validity.Sequence
	r.New = func(c *rule.Context) rule.Check {
		l := &ledger{c: c, readings: map[string]*reading{}, flows: map[int]*flow{}}
		for _, k := range list {
			if k.start != nil {
				k.count = k.start()
			}
			l.tallies = append(l.tallies, tally{counter: k})
		}
		return rule.Check{Sight: l.sight, Event: l.event, End: l.end}
	}
	return r
}

// ledger is the state of one rule for one device.
type ledger struct {
	c        *rule.Context
	readings map[string]*reading
	flows    map[int]*flow // by connection
	tallies  []tally
}

// tally is by how much a counter must have moved so far.
type tally struct {
	counter
	span
}

// reading is the first and the latest value of a counter.
type reading struct{ first, last int64 }

// flow is the state of the device's queue pair of a connection.
type flow struct {
	asks, answers *rule.Conversation // where the device is requester, and responder; nil until something was seen
	unsure        []span             // by tally: what arrived since the queue pair was last seen to be there
	gaveUp        map[engine.Status]bool
}

// dead reports whether the queue pair has failed for a cause that was seen.
func (f *flow) dead() bool {
	return f.asks != nil && f.asks.Failed || f.answers != nil && f.answers.Fatal
}

// of returns the flow of a connection.
func (l *ledger) of(conn int) *flow {
	f := l.flows[conn]
	if f == nil {
		f = &flow{unsure: make([]span, len(l.tallies)), gaveUp: map[engine.Status]bool{}}
		l.flows[conn] = f
	}
	return f
}

// sight adds what a packet moves. What arrives is counted by a queue pair that is there: one that sends something later
// was.
func (l *ledger) sight(s *rule.Sight) {
	f := l.of(s.Of.Index)
	if s.Of.Req == l.c.Req {
		f.asks = s.Of
	} else {
		f.answers = s.Of
	}
	if s.Out {
		f.settle()
	}
	arrives := !s.Out && s.Of.Index >= 0 && !f.dead() && s.Intact() && s.Of.Addressed(s)
	for i := range l.tallies {
		t := &l.tallies[i]
		if t.count == nil {
			continue
		}
		n := t.count(s)
		if !s.Out && !arrives && !t.open {
			n.low = 0
		}
		t.low, t.high = t.low+n.low, t.high+n.high
		if arrives && !t.open {
			f.unsure[i].low += n.low
		}
	}
}

// settle takes what has arrived for counted: the queue pair was there.
func (f *flow) settle() { clear(f.unsure) }

// event takes readings of counters, and completions, which tell how a queue pair ended.
func (l *ledger) event(e *trace.Event) {
	switch e.Kind {
	case trace.Counter:
		if r := l.readings[e.Name]; r != nil {
			r.last = e.Value
		} else {
			l.readings[e.Name] = &reading{e.Value, e.Value}
		}
	case trace.CQE, trace.Recv:
		switch status := e.Body.Status; status {
		case engine.StatusSuccess, engine.StatusRemoteAccess, engine.StatusRemoteInvalid, engine.StatusRemoteOp:
			l.of(e.Conn).settle()
		default:
			l.of(e.Conn).gaveUp[status] = true
		}
	}
}

// end compares.
func (l *ledger) end(vtime.Time) {
	for _, f := range l.flows {
		for i := range l.tallies {
			l.tallies[i].low -= f.unsure[i].low
		}
	}
	for i := range l.tallies {
		l.compare(&l.tallies[i])
	}
}

// What of the frames at the port is not in the trace, by trace.Counter.
const (
	aside  = "tap/aside"
	others = "tap/other"
)

// largest is as many bytes as a frame may have.
const largest = 1 << 14

// compare holds one counter against the interval that the trace allows.
func (l *ledger) compare(t *tally) {
	value, ok := l.movement(t.name)
	if !ok || t.with != "" && l.readings[t.with] == nil {
		return
	}
	if t.and != "" {
		more, _ := l.movement(t.and)
		value += more
	}
	if t.ending != nil {
		t.span = t.ending(l)
	}
	more, known := l.extra(t)
	t.high += more
	if t.low == 0 && value == 0 {
		return
	}
	n := rule.Count{Name: t.name, Value: value, Low: t.low, High: t.high}
	if t.and != "" {
		n.Name += " and " + t.and
	}
	if !known {
		n.High = rule.Unbounded
	}
	n.Report(l.c, t.says+": "+t.doc)
}

// movement returns by how much a counter has moved; ok is false of one that was not read before and after.
func (l *ledger) movement(name string) (n int64, ok bool) {
	r := l.readings[name]
	if r == nil {
		return 0, false
	}
	return r.last - r.first, true
}

// extra is by how much more a counter may have moved, because of frames that are not in the trace; known is false when
// nobody knows.
func (l *ledger) extra(t *tally) (n int64, known bool) {
	n, _ = l.movement(aside)
	known = true
	if t.open {
		var other int64
		other, known = l.movement(others)
		n += other
	}
	return n * cmp.Or(t.unit, 1), known
}
