package trace

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Event is one report of an endpoint.
type Event struct {
	At   vtime.Time
	Side Side
	Conn int
	Kind EventKind
	// Body holds the completion fields of Post (Event.Kind unused), CQE, Recv, Timeout, Fatal, Declared, Lost and
	// Refused.
	Body engine.Event
	// Name and Value: a Probe's, Count's or Counter's variable; a Memory event's check ("mismatch", "guard",
	// "received"). Value of a Post: how long the request waited for room in the queue, as a vtime.Duration.
	Name  string
	Value int64
	// VA, Len and Sum: the range of a Store or Changed and the CRC-32 of its bytes; the remote address and length of a
	// Post; the address and length of a Receive and of a Declared chunk.
	VA  uint64
	Len uint32
	Sum uint32
	// RKey of a Post.
	RKey uint32
	// Deadline of a Timer event; vtime.Never when the timer was stopped.
	Deadline vtime.Time
}

// EventKind tells the kinds of Event apart.
type EventKind uint8

// The kinds of Event.
const (
	Post    EventKind = iota // a work request was posted: Body.ID, Body.Op, Len, VA, RKey
	Receive                  // a receive buffer was posted: Body.ID, Len
	CQE                      // a work request completed
	Recv                     // a receive completed
	Timeout                  // the transport timer expired
	Fatal                    // the QP went to the error state
	Store                    // bytes were placed in memory
	Timer                    // the transport timer was set or stopped
	Probe                    // a variable of the engine has a value
	Count                    // an error counter of the endpoint advanced to Value
	// result of a comparison: Name is "mismatch" or "guard" (final), or "received"; Value is the number of wrong bytes
	Memory
	Declared // a chunk of a one-sided message was declared valid: Body.ID, VA, Len, Body.More
	Lost     // an incomplete message was given up: Body.ID, Body.Len
	Refused  // a packet that arrived was dropped: Body.Status
	Changed  // bytes of a region differ from their values at the start: VA, Len
	Idle     // the endpoint has no work left, on any connection
	Counter  // a counter of the device at Side has Value; Name is its source and name, Conn is -1
)

var eventNames = [...]string{"post", "receive", "cqe", "recv", "timeout", "fatal", "store", "timer", "probe", "count",
	"memory", "declared", "lost", "refused", "changed", "idle", "counter"}

// String returns the lower-case name, which is also the NDJSON spelling.
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "event?"
}

// EventKinds is the number of kinds.
const EventKinds = EventKind(len(eventNames))

// ParseEventKind returns the kind with a name that String returns.
func ParseEventKind(name string) (EventKind, bool) {
	i := slices.Index(eventNames[:], name)
	return EventKind(max(i, 0)), i >= 0
}

// Body returns the kind of engine event that Event.Body has for kind k.
func (k EventKind) Body() engine.EventKind {
	switch k {
	case Recv:
		return engine.ReceiveCQE
	case Timeout:
		return engine.Timeout
	case Fatal:
		return engine.Fatal
	case Declared:
		return engine.Declared
	case Lost:
		return engine.Lost
	case Refused:
		return engine.Refused
	}
	return engine.CQE
}
