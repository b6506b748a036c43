package ctr

import (
	"cmp"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// span is the interval of a counter's change, [low, high].
type span struct{ low, high int64 }

// The spans of an event that a device must count, may count, and must not count.
var (
	surely  = span{1, 1}
	perhaps = span{0, 1}
	never   = span{}
)

// counter is a counter that a driver documents, with the packets or completions that change it.
type counter struct {
	name string // name in trace.Counter
	and  string // another counter of the same quantity, to add; "" for none
	with string // only devices that also have this counter are judged; "" for all
	doc  string // where it is documented
	says string // the documentation's definition of its count
	open bool   // frames that are not RoCE also change it
	unit int64  // largest change by a frame outside the trace; 0 means 1

	count  func(*rule.Sight) span        // its change by a packet at the port
	start  func() func(*rule.Sight) span // makes count, if it has state
	ending func(*ledger) span            // its change, computed at the end
}

// moved makes the rule that counters change as their definitions require.
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

// tally is the expected change of a counter so far.
type tally struct {
	counter
	span
}

// reading is the first and the latest value of a counter.
type reading struct{ first, last int64 }

// flow is the state of the device's queue pair of a connection.
type flow struct {
	asks, answers *rule.Conversation     // halves with the device as requester and as responder; nil until seen
	unsure        []span                 // by tally: low since the queue pair was last known to exist
	gaveUp        map[engine.Status]bool // statuses of completions that ended the queue pair
}

// dead reports whether the queue pair has failed for a visible cause.
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

// sight adds the changes by a packet. A queue pair counts received packets only while it exists; that it sends
// something later shows that it did. A fatal NAK does not: it was in error from the refused request on, while the NAK
// waited to leave.
func (l *ledger) sight(s *rule.Sight) {
	f := l.of(s.Of.Index)
	if s.Of.Req == l.c.Req {
		f.asks = s.Of
	} else {
		f.answers = s.Of
	}
	if s.Out && !rule.IsFatalNAK(s.Pkt) {
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

// settle accepts the packets received so far as counted: the queue pair existed.
func (f *flow) settle() { clear(f.unsure) }

// event processes readings of counters, and completions, which show how a queue pair ended.
func (l *ledger) event(e *trace.Event) {
	switch e.Kind {
	case trace.Counter:
		if r := l.readings[e.Name]; r != nil {
			r.last = e.Value
		} else {
			l.readings[e.Name] = &reading{e.Value, e.Value}
		}
	case trace.CQE, trace.Recv:
		if !l.c.Mine(e) {
			return
		}
		switch status := e.Body.Status; status {
		case engine.StatusSuccess, engine.StatusRemoteAccess, engine.StatusRemoteInvalid, engine.StatusRemoteOp:
			l.of(e.Conn).settle()
		default:
			l.of(e.Conn).gaveUp[status] = true
		}
	}
}

// end judges the counters.
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

// Names, in trace.Counter, of the frames at the port that are not in the trace.
const (
	aside  = "tap/aside"
	others = "tap/other"
)

// largest is the maximum size of a frame, in bytes.
const largest = 1 << 14

// compare compares one counter with the interval that the trace allows.
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

// movement returns the change of a counter; ok is false if it was not read.
func (l *ledger) movement(name string) (n int64, ok bool) {
	r := l.readings[name]
	if r == nil {
		return 0, false
	}
	return r.last - r.first, true
}

// extra returns how much more a counter may have changed because of frames outside the trace; known is false when that
// is unknown.
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
