package dut

import (
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Ending is the end of a tool's work, as far as it was observed.
type Ending struct {
	Done vtime.Time // time of its message that all work was done; vtime.Never without one
	Gone vtime.Time // time at which its process had ended by itself; vtime.Never when it had not
	Said string     // its output

	End        vtime.Time // of the trace
	Changed    []Range    // ranges of its region (see Tool.region) that changed between the start and the end
	Compared   bool       // the region was read at the start and the end, so Changed is complete
	Violations int64      // Q_Key violations; Unread when they could not be read
	// the status of each completion of its queue pair, by libibverbs' numbers, in order; none when they were not
	// observed
	Completed []int
}

// Range is a range of a tool's memory.
type Range struct {
	VA  uint64
	Len uint32
}

// Unread is a counter that could not be read.
const Unread = -1

// Silent is the set of the tool's reports that could not be read in this run.
func (e *Ending) Silent() (r trace.Reports) {
	if !e.Compared {
		r |= trace.ReportChanges
	}
	if e.Violations == Unread {
		r |= trace.ReportDatagrams
	}
	if len(e.Completed) == 0 {
		r |= trace.ReportFlushed
	}
	return r
}

// Tells is the set of reports that a tool's end provides beside the wire: from its command line, from its output at the
// end, and from actions that it takes only after a completion. Only rping tells in which order its requests complete.
// No tool reports the completions after a failed one; the kernel does, for a perftest that has posted all its requests
// before the first can have failed. These all have the same ID, so their order is not known.
func (t *Tool) Tells() trace.Reports {
	switch t.kind.(type) {
	case rping:
		if t.Active {
			return trace.ReportReceived | trace.ReportChecked
		}
		return trace.ReportDone | trace.ReportOrdered
	case udPingpong:
		return trace.ReportDatagrams
	case perftest, perftestCM:
		switch {
		case t.turns != "":
			return 0
		case t.Active && t.Depth >= t.Count:
			return trace.ReportDone | trace.ReportFlushed
		case t.Active:
			return trace.ReportDone
		}
		if takesReceive(t.Op) {
			return trace.ReportPosted | trace.ReportRegions
		}
		return trace.ReportPosted | trace.ReportRegions | trace.ReportChanges
	}
	return 0
}

// Told returns the events of that end, in no order, but for those that a Witness adds. The Spec is that of the run.
func (t *Tool) Told(s *scenario.Spec, side trace.Side, e Ending) (events []trace.Event) {
	told := t.Tells()
	switch {
	case told&trace.ReportOrdered != 0:
		events = t.printed(e)
	case told&trace.ReportDone != 0:
		events = t.completions(s, side, e)
	}
	if told&trace.ReportPosted != 0 {
		events = append(events, t.receives(e)...)
	}
	if told&trace.ReportRegions != 0 {
		events = append(events, t.region(s.Devices[side])...)
	}
	if told&trace.ReportDatagrams != 0 {
		events = append(events, trace.Event{Kind: trace.Probe, Name: "qkey", Value: datagramKey},
			trace.Event{At: e.End, Kind: trace.Count, Name: "qkey", Value: e.Violations})
	}
	for _, c := range e.Changed {
		events = append(events, trace.Event{At: e.End, Kind: trace.Changed, VA: c.VA, Len: c.Len})
	}
	for i := range events {
		events[i].Side = side
	}
	return events
}

// completions returns the completions of the requests as the end of the work shows them: all had completed by then, or
// the first that had not completed failed; and the completions that were observed then.
func (t *Tool) completions(s *scenario.Spec, side trace.Side, e Ending) (events []trace.Event) {
	q := s.QP[side]
	packets := max(1, (int(t.Message)+q.MTU-1)/q.MTU)
	body := func(i int) engine.Event {
		return engine.Event{ID: uint64(i), Op: t.Op, Len: uint32(t.Message), PSN: q.SendPSN.Add((i+1)*packets - 1)}
	}
	for i := range t.Count {
		b := body(i)
		events = append(events, trace.Event{At: vtime.Time(Lead), Kind: trace.Post, Body: b, Len: b.Len})
		if e.Done != vtime.Never {
			events = append(events, trace.Event{At: e.Done, Kind: trace.CQE, Body: b})
		}
	}
	status, failed := complaint(e.Said)
	switch {
	case !failed || e.Done != vtime.Never || e.Gone == vtime.Never:
	case len(e.Completed) == 0:
		events = append(events, trace.Event{At: e.Gone, Kind: trace.CQE, Body: engine.Event{Op: t.Op, Status: status}})
	default:
		for i, number := range e.Completed {
			b := body(i)
			b.Status = statusOf(number)
			events = append(events, trace.Event{At: e.Gone, Kind: trace.CQE, Body: b})
		}
	}
	return events
}

// statusOf is the engine's status for one of libibverbs; one that no engine knows is an error of the device's own.
func statusOf(number int) engine.Status {
	if s, ok := statuses[number]; ok {
		return s
	}
	return engine.StatusLocalProtection
}

// postedReceives is how many receives perftest keeps posted for SENDs.
const postedReceives = 512

// receives returns the receives that perftest posts before the exchange of parameters: none except for SENDs. For each
// that completes it posts another, which is not observed; even when it was configured with few, it is taken to have
// enough. A receive for which a SEND was too long is the last.
func (t *Tool) receives(e Ending) (events []trace.Event) {
	if !takesReceive(t.Op) {
		return nil
	}
	for i := range postedReceives {
		events = append(events, trace.Event{Kind: trace.Receive, Body: engine.Event{ID: uint64(i)},
			Len: uint32(t.Message)})
	}
	if status, failed := complaint(e.Said); failed && e.Gone != vtime.Never {
		events = append(events, trace.Event{At: e.Gone, Kind: trace.Recv, Body: engine.Event{Status: status}})
	}
	return events
}

// Extent is the size of that part of perftest's memory, in bytes.
func (t *Tool) Extent() int {
	const page, line = 4096, 64
	return (max(int(t.Message), page) + line - 1) / line * line
}

// region is the part of perftest's memory that starts at the announced address: one message, or a page when that is
// larger. Its rights are those of the one operation that it serves.
func (t *Tool) region(d scenario.Device) (events []trace.Event) {
	rights := map[engine.Op]engine.Access{engine.OpWrite: engine.RemoteWrite, engine.OpRead: engine.RemoteRead}
	size := int64(t.Extent())
	for _, p := range []struct {
		name  string
		value int64
	}{{"mr_rkey", int64(d.Key)}, {"mr_va", int64(d.Buffer)}, {"mr_len", size},
		{"mr_access", int64(rights[t.Op] | engine.LocalWrite)}} {
		events = append(events, trace.Event{Kind: trace.Probe, Name: p.name, Value: p.value})
	}
	return events
}

// statuses are those of libibverbs, by their numbers there, that an engine knows.
var statuses = map[int]engine.Status{0: engine.StatusSuccess, 1: engine.StatusLocalLength,
	4: engine.StatusLocalProtection, 5: engine.StatusFlushed,
	9: engine.StatusRemoteInvalid, 10: engine.StatusRemoteAccess, 11: engine.StatusRemoteOp,
	12: engine.StatusRetryExceeded,
	13: engine.StatusRNRRetryExceeded}

// complaint finds the status of the first failed completion in the output of a tool: "Failed status 12: wr_id 0" of
// perftest, "cq completion failed status 12" of rping.
func complaint(said string) (s engine.Status, ok bool) {
	const words = "ailed status "
	_, rest, found := strings.Cut(said, words)
	var number int
	if n, _ := fmt.Sscanf(rest, "%d", &number); !found || n != 1 {
		return 0, false
	}
	s, ok = statuses[number]
	return s, ok
}

// Witness infers from the packets of a tool the events that the tool must have seen to send them. The rping that begins
// SENDs again only when the message that it waits for has arrived with the right length, and begins a new round only
// when it has found in its memory the data that it offered in the round before. The ibv_ud_pingpong that serves SENDs
// when a datagram has been delivered. A nil Witness sees nothing.
type Witness struct {
	side    trace.Side
	sends   int
	next    func(*trace.Record) bool // a SEND that was not sent before
	answers bool                     // each is for one that was received
}

// Witness returns the witness of the tool; nil when its packets tell nothing.
func (t *Tool) Witness(s *scenario.Spec, side trace.Side) *Witness {
	if t.Datagrams() {
		return &Witness{side: side, answers: true,
			next: func(r *trace.Record) bool { return r.From == side && r.Packet.Opcode.Class() == roce.ClassUD }}
	}
	if t.Tells()&trace.ReportReceived == 0 {
		return nil
	}
	expected := s.QP[side].SendPSN
	return &Witness{side: side, next: func(r *trace.Record) bool {
		if r.From != side || r.Packet.Opcode != roce.SendOnly || r.Packet.PSN.Less(expected) {
			return false
		}
		expected = r.Packet.PSN.Next()
		return true
	}}
}

// Begin returns the events before the first packet: one receive is posted.
func (w *Witness) Begin() []trace.Event {
	if w == nil || w.answers {
		return nil
	}
	return []trace.Event{{Kind: trace.Receive, Side: w.side, Len: pingLen}}
}

// Packet returns the events that a packet implies. Each has the packet's time, by which it had happened.
func (w *Witness) Packet(r *trace.Record) []trace.Event {
	if w == nil || !w.next(r) {
		return nil
	}
	switch w.sends++; {
	case w.answers:
		return []trace.Event{{At: r.Time(), Side: w.side, Kind: trace.Recv, Body: engine.Event{ID: uint64(w.sends - 1),
			Len: uint32(r.Packet.Len)}}}
	case w.sends == 1:
		return nil // it begins
	}
	return w.received(r.Time())
}

// End returns the events that the end of the tool implies: it compares memory after its last round as after any other.
func (w *Witness) End(e Ending) []trace.Event {
	if w == nil || w.answers || w.sends == 0 || e.Gone == vtime.Never {
		return nil
	}
	if strings.Contains(e.Said, "data mismatch") {
		return []trace.Event{{At: e.Gone, Side: w.side, Kind: trace.Memory, Name: "received", Value: 1}}
	}
	if _, failed := complaint(e.Said); failed || strings.Contains(e.Said, "rror") {
		return nil
	}
	w.sends++
	return w.received(e.Gone)
}

// received is a receive that has completed, and the next one posted. Every other one ends a round.
func (w *Witness) received(at vtime.Time) (events []trace.Event) {
	if w.sends%2 == 1 {
		events = append(events, trace.Event{Kind: trace.Memory, Name: "received"})
	}
	n := uint64(w.sends - 2)
	events = append(events, trace.Event{Kind: trace.Recv, Body: engine.Event{ID: n, Len: pingLen}},
		trace.Event{Kind: trace.Receive, Body: engine.Event{ID: n + 1}, Len: pingLen})
	for i := range events {
		events[i].At, events[i].Side = at, w.side
	}
	return events
}

// pingLen is the length of rping's SENDs.
const pingLen = 16
