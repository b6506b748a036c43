package model

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
)

// KeptRun is a run behind a change or a failure, as a store keeps it for a page after the folder of the run is gone.
type KeptRun struct {
	Format  int                `json:"format"`
	Started string             `json:"night_started"` // of the night; distinguishes nights of several hosts
	Run     string             `json:"run"`           // name of the run in the points of the night
	Result  *Result            `json:"result"`        // reduced by Extract
	Sheets  []*datasheet.Sheet `json:"sheets,omitempty"`
}

// Bounds of an extract.
const (
	extractMarks   = 4000 // marks of a plot, about as many as a drawing of that size can show
	extractLadders = 12
)

// Extract returns the part of a result that pages of nights show: the conditions of the run, the broken rules with the
// ladder of the first finding of each, the numbers, and one plot.
func Extract(r *Result) *Result {
	out := &Result{
		Format:      r.Format,
		Version:     r.Version,
		Commit:      r.Commit,
		Started:     r.Started,
		Command:     r.Command,
		Bench:       r.Bench,
		Dilated:     r.Dilated,
		Impl:        r.Impl,
		Spec:        r.Spec,
		SpecHash:    r.SpecHash,
		Seed:        r.Seed,
		Folder:      r.Folder,
		Summary:     r.Summary,
		Status:      r.Status,
		Reason:      r.Reason,
		Fault:       r.Fault,
		State:       r.State,
		Environment: r.Environment,
		Counters:    r.Counters,
	}
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; v.Status == rule.Fail || v.Status == rule.XPass || v.Status == rule.Error {
			out.Verdicts = append(out.Verdicts, *v)
		}
	}
	for _, l := range r.Ladders {
		if l.Finding == 0 && len(out.Ladders) < extractLadders {
			out.Ladders = append(out.Ladders, l)
		}
	}
	out.Timeline.Start = r.Timeline.Start
	if i := slices.IndexFunc(r.Sequences, func(s metrics.Sequence) bool { return len(s.Marks) > 0 }); i >= 0 {
		out.Sequences = []metrics.Sequence{thinner(r.Sequences[i])}
	}
	return out
}

// thinner leaves out most first transmissions and ACKs of a long plot, whose marks form lines.
func thinner(s metrics.Sequence) metrics.Sequence {
	stride, n := 1+len(s.Marks)/extractMarks, 0
	if stride == 1 {
		return s
	}
	marks := s.Marks
	s.Marks, s.Thinned = nil, true
	for _, m := range marks {
		if m.Kind == metrics.SentFirst || m.Kind == metrics.AckMark {
			if n++; n%stride != 0 {
				continue
			}
		}
		s.Marks = append(s.Marks, m)
	}
	return s
}
