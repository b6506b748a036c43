package wrk

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var memoryAsOrdered = rule.Rule{
	ID: "WRK-MEM-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "After the run the memory named by the orders has the ordered content, and no other byte of it has changed",
	Source: rule.Source{Ref: ours,
		Requirement: "Work that is done has put its bytes where the order says, and none elsewhere."},
	Needs:    rule.Assigned | rule.Completions | rule.Image,
	Stimulus: "ordered work that is done, and memory that is compared", BlackBox: telling,
	New: func(c *rule.Context) rule.Check {
		m := content{c: c, book: newBook(c)}
		return rule.Check{Event: m.event, End: m.end}
	},
}

// content compares the memory at the end with the work posted as ordered.
type content struct {
	c    *rule.Context
	book *book
	open []extent
	// a WRITE was posted over one that had not completed, to a responder that may leave either of them in memory
	twice    bool
	astray   bool     // a posted request differs from the ordered one
	reads    bool     // READ data go to the requester's memory
	compared bool     // the memory was compared
	wrong    [2]int64 // bytes that differ, at the responder and at the requester
	outside  [2]int64 // bytes that changed although no request names them, likewise
}

func (m *content) event(e *trace.Event) {
	switch {
	case e.Kind == trace.Post && m.c.Mine(e):
		want, wrong := m.book.post(e)
		m.astray = m.astray || wrong != ""
		m.posted(e)
		m.reads = m.reads || want.Op == engine.OpRead || want.Op == engine.OpCompareSwap || want.Op == engine.OpFetchAdd
	case e.Kind == trace.CQE && m.c.Mine(e):
		m.open = slices.DeleteFunc(m.open, func(x extent) bool { return x.id == e.Body.ID })
	case e.Kind == trace.Memory && (!m.c.Mine(e) || m.reads):
		at := 0
		if m.c.Mine(e) {
			at = 1
		}
		switch e.Name {
		case "guard":
			m.outside[at] += e.Value
		case "mismatch":
			m.wrong[at] += e.Value
			m.compared = true
		}
	}
}

// extent is the target range of a WRITE that has not completed.
type extent struct{ id, from, to uint64 }

// extentLimit bounds the open WRITEs that a new one is compared with.
const extentLimit = 1 << 10

// posted looks for overlapping WRITEs, if the responder places out-of-order packets.
func (m *content) posted(e *trace.Event) {
	if m.twice || !m.c.Direct() || e.Body.Op != engine.OpWrite && e.Body.Op != engine.OpWriteImm {
		return
	}
	now := extent{e.Body.ID, e.VA, e.VA + uint64(e.Len)}
	m.twice = len(m.open) == extentLimit || slices.ContainsFunc(m.open, func(x extent) bool {
		return x.from < now.to && now.from < x.to
	})
	if !m.twice {
		m.open = append(m.open, now)
	}
}

func (m *content) end(vtime.Time) {
	c := m.c
	failed := c.Failed || c.Fatal
	posted, total := m.book.counted()
	switch {
	case !m.compared:
	case m.outside[0]+m.outside[1] > 0:
		c.Failf(rule.Responder, "%d bytes changed that no request names", m.outside[0]+m.outside[1])
	case failed || m.twice:
		// The content is not defined after a failure, nor after overlapping WRITEs.
	case m.wrong[0]+m.wrong[1] > 0:
		c.Failf(rule.Responder, "%d bytes differ from the ordered content", m.wrong[0]+m.wrong[1])
	case m.book.some && !m.astray && posted == total && m.book.scripts() == 0:
		c.Met()
	}
}
