package dut

import (
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// posts and completes map the beginnings of lines to operations: lines that a serving rping prints when it has posted a
// request, and when a request has completed. Two threads print them, so lines are in order within each of the two
// kinds, but not between the kinds.
var (
	posts = map[string]engine.Op{"server posted rdma read req": engine.OpRead, "server posted go ahead": engine.OpSend,
		"rdma write from lkey": engine.OpWrite}
	completes = map[string]engine.Op{"rdma read completion": engine.OpRead, "send completion": engine.OpSend,
		"rdma write completion": engine.OpWrite}
)

// printed reads the posts and completions of a serving rping from its output. A completion names only its operation,
// and belongs to the oldest request of that operation: two requests of one operation are never outstanding. A failed
// completion has only a status, and is assigned to the oldest request.
func (t *Tool) printed(e Ending) (events []trace.Event) {
	var open []trace.Event
	end := min(e.Gone, e.End)
	for line := range strings.Lines(e.Said) {
		if op, ok := begins(line, posts); ok {
			size := t.Message
			if op == engine.OpSend {
				size = pingLen
			}
			open = append(open, post(len(open), op, size))
		}
	}
	posted := len(open)
	events = append(events, open...)
	complete := func(i int, s engine.Status) {
		body := open[i].Body
		body.Status = s
		events = append(events, trace.Event{At: end, Kind: trace.CQE, Body: body})
		open = append(open[:i:i], open[i+1:]...)
	}
	for line := range strings.Lines(e.Said) {
		op, ok := begins(line, completes)
		if !ok {
			continue
		}
		i := slices.IndexFunc(open, func(e trace.Event) bool { return e.Body.Op == op })
		if i < 0 {
			extra := engine.Event{ID: uint64(posted), Op: op} // completes nothing that was posted
			events = append(events, trace.Event{At: end, Kind: trace.CQE, Body: extra})
			continue
		}
		complete(i, engine.StatusSuccess)
	}
	if status, failed := complaint(e.Said); failed && e.Gone != vtime.Never && len(open) > 0 {
		complete(0, status)
	}
	return events
}

// post returns the event of a request whose time is not known; it was posted before its first packet was seen.
func post(i int, op engine.Op, size unit.Size) trace.Event {
	return trace.Event{Kind: trace.Post, Body: engine.Event{ID: uint64(i), Op: op, Len: uint32(size)},
		Len: uint32(size)}
}

// begins returns the operation for the beginning of a line.
func begins(line string, words map[string]engine.Op) (engine.Op, bool) {
	for w, op := range words {
		if strings.HasPrefix(line, w) {
			return op, true
		}
	}
	return 0, false
}
