package capture_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

// The taps of one run belong together. The taps of two runs do not, even with the same packets and times in the run,
// nor do two captures of one tap.
func TestReuniteRefusesTwoRuns(t *testing.T) {
	f := tracetest.Parse(t, tracetest.Gap, 0)
	monday := time.Unix(1_000_000, 0)
	one, other := tapped(t, f, monday), tapped(t, f, monday.Add(time.Minute))
	for name, c := range map[string]struct {
		files []*bytes.Buffer
		want  error
	}{
		"both taps":             {[]*bytes.Buffer{one[trace.A], one[trace.B]}, nil},
		"one tap":               {[]*bytes.Buffer{one[trace.B]}, nil},
		"one tap twice":         {[]*bytes.Buffer{one[trace.A], one[trace.A]}, capture.ErrTwoRuns},
		"one tap of two runs":   {[]*bytes.Buffer{one[trace.A], other[trace.A]}, capture.ErrTwoRuns},
		"two taps of two runs":  {[]*bytes.Buffer{one[trace.A], other[trace.B]}, capture.ErrTwoRuns},
		"three taps, two alike": {[]*bytes.Buffer{one[trace.A], one[trace.B], one[trace.B]}, capture.ErrTwoRuns},
	} {
		var sources []capture.Source
		for _, file := range c.files {
			r, err := capture.NewReader(bytes.NewReader(file.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, r)
		}
		records := 0
		_, err := capture.Reunite(&f.Header, sources, func(uint64, *trace.Record) bool { records++; return true })
		if !errors.Is(err, c.want) || err == nil && records == 0 {
			t.Errorf("%s: %d records, %v; want %v", name, records, err, c.want)
		}
	}
}

// tapped returns the captures of a run that began at the time zero.
func tapped(t *testing.T, f *fixture.Trace, zero time.Time) (files [2]*bytes.Buffer) {
	t.Helper()
	for _, side := range []trace.Side{trace.A, trace.B} {
		files[side] = &bytes.Buffer{}
		w, err := capture.NewWriter(files[side], &f.Header, capture.Tap{Side: side, Device: side.String()}, zero)
		if err != nil {
			t.Fatal(err)
		}
		f.Play(trace.NewTimeline(&f.Header, w))
		if _, err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	return files
}
