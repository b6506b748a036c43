package run

import (
	"sort"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ladder"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Limits of the ladders around findings: enough packets to see the cause, few enough to read.
const (
	laddersPerRule = 3
	ladderLimit    = 24
	ladderBefore   = 14
	ladderAfter    = 6
)

// drawLadders draws the packets around the first findings of each rule from the stored trace. A finding without a
// packet, or whose packet was not stored, has no ladder.
func drawLadders(r *model.Result, f *folder) error {
	wanted := centres(r.Verdicts)
	if len(wanted) == 0 || f == nil {
		return nil
	}
	h, play, err := recording.Open(f.path("trace.ndjson"))
	if err != nil {
		return err
	}
	return Ladders(r, h, play, wanted)
}

// Centre is a finding to draw a ladder around.
type Centre struct {
	Rule    string
	Finding int
	Conn    int
	Record  uint64
	Text    string
}

// centres picks the findings to draw, sorted by record.
func centres(verdicts []rule.Verdict) []Centre {
	var out []Centre
	for _, v := range verdicts {
		for i, f := range v.Findings {
			if f.Record != rule.NoRecord && i < laddersPerRule && len(out) < ladderLimit {
				out = append(out, Centre{Rule: v.Rule, Finding: i, Conn: f.Conn, Record: f.Record, Text: f.Text})
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Record < out[j].Record })
	return out
}

// Ladders plays a trace once, unless there is nothing to draw, and adds to r a ladder around each centre.
func Ladders(r *model.Result, h trace.Header, play func(trace.Sink) error, wanted []Centre) error {
	if len(wanted) == 0 {
		return nil
	}
	w := &windows{header: &h, wanted: wanted, result: r}
	err := play(w)
	w.drawUpTo(^uint64(0))
	return err
}

// windows is a Sink that keeps the latest records and events, and draws the ladder of each centre once its last record
// has passed.
type windows struct {
	header  *trace.Header
	wanted  []Centre
	result  *model.Result
	records []trace.Record
	events  []trace.Event
	first   uint64 // index of records[0]
}

// keep is the least number of records in a full window; the other connections' packets in between need room too.
const keep = 512

// Packet implements trace.Sink.
func (w *windows) Packet(r *trace.Record) {
	if len(w.wanted) == 0 {
		return
	}
	if len(w.records) == 2*keep {
		w.first += keep
		w.records = append(w.records[:0], w.records[keep:]...)
		w.forget(w.records[0].Time())
	}
	w.records = append(w.records, *r.Clone())
	w.drawUpTo(w.first + uint64(len(w.records)) - 1)
}

// Event implements trace.Sink.
func (w *windows) Event(e *trace.Event) {
	if len(w.wanted) > 0 {
		w.events = append(w.events, *e)
	}
}

// End implements trace.Sink.
func (w *windows) End(vtime.Time) {}

// forget drops events older than the first record in the window.
func (w *windows) forget(before vtime.Time) {
	n := sort.Search(len(w.events), func(i int) bool { return w.events[i].At >= before })
	w.events = append(w.events[:0], w.events[n:]...)
}

// drawUpTo draws every centre whose ladder ends at or before the record with index last.
func (w *windows) drawUpTo(last uint64) {
	for len(w.wanted) > 0 {
		c := w.wanted[0]
		if last < c.Record+ladderAfter {
			return
		}
		w.wanted = w.wanted[1:]
		if c.Record < w.first || c.Record >= w.first+uint64(len(w.records)) {
			continue
		}
		var b strings.Builder
		err := ladder.Draw(&b, w.header, w.records, w.events, ladder.Options{OneConn: c.Conn >= 0, Conn: c.Conn,
			First: w.first, Window: true,
			Center: c.Record, Before: ladderBefore, After: ladderAfter, Marks: map[uint64]string{c.Record: c.Rule}})
		if err == nil {
			w.result.Ladders = append(w.result.Ladders,
				model.Ladder{Rule: c.Rule, Finding: c.Finding, Text: b.String()})
		}
	}
}
