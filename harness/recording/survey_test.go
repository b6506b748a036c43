package recording

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

// filed writes captures, one for each list, and returns what was understood of them, what a viewer sees, and where the taps are.
func filed(t *testing.T, lists ...[]capture.Frame) (Recording, []string) {
	t.Helper()
	var parts []Part
	for i, list := range lists {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("B-%d.pcap", i))
		tracetest.WritePcap(t, path, 65535, list)
		parts = append(parts, Part{Name: path})
	}
	r, err := ReadAll(parts, Tap{})
	if err != nil {
		t.Fatal(err)
	}
	return r, sightsOf(t, &r.Header, r.Play)
}

// later returns frames with later time stamps, those of which keep says so.
func later(list []capture.Frame, by time.Duration, keep func(i int) bool) (out []capture.Frame) {
	for i, f := range list {
		if keep == nil || keep(i) {
			f.Wall = f.Wall.Add(by)
			out = append(out, f)
		}
	}
	return out
}

func inTime(lists ...[]capture.Frame) []capture.Frame {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b capture.Frame) int { return a.Wall.Compare(b.Wall) })
	return all
}

// One tap is one tap, in however many files and in whatever order it was written down.
func TestOneTapInAnyForm(t *testing.T) {
	f := tracetest.Parse(t, goBackRun(3, 30, true), 0)
	list := tracetest.FramesAt(f, trace.A)
	base, want := filed(t, list)
	there := func(i int) bool { return list[i].Raw[29] == list[0].Raw[29] } // the last byte of the source
	mixed := slices.Clone(list)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	half := len(list) / 2
	for name, c := range map[string]struct {
		lists       [][]capture.Frame
		twice, late bool
	}{
		"a direction a file":   {lists: [][]capture.Frame{later(list, 0, there), later(list, 0, func(i int) bool { return !there(i) })}},
		"a time a file":        {lists: [][]capture.Frame{list[half:], list[:half]}},
		"three files":          {lists: [][]capture.Frame{list[half:], list[:7], list[7:half]}},
		"out of order":         {lists: [][]capture.Frame{mixed}, late: true},
		"concatenated":         {lists: [][]capture.Frame{slices.Concat(list[half:], list[:half])}, late: true},
		"seen twice":           {lists: [][]capture.Frame{inTime(list, later(list, 700, nil))}, twice: true},
		"one direction twice":  {lists: [][]capture.Frame{inTime(list, later(list, 700, there))}, twice: true},
		"seen twice, no order": {lists: [][]capture.Frame{slices.Concat(list, later(list, 700, nil))}, twice: true, late: true},
	} {
		got, seen := filed(t, c.lists...)
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		g, b := got.Capture, base.Capture
		if g.Tap != b.Tap || g.Frames != b.Frames || (g.Twice > 0) != c.twice || (g.Late > 0) != c.late {
			t.Errorf("%s: %+v, want %+v", name, g, b)
		}
	}
}

// Two taps whose clocks differ are put on one clock, whichever file is first.
func TestClocksOfTwoTaps(t *testing.T) {
	f := tracetest.Parse(t, goBackRun(3, 30, true), 0)
	a, b := tracetest.FramesAt(f, trace.A), tracetest.FramesAt(f, trace.B)
	_, want := filed(t, a, b)
	for _, by := range []time.Duration{-24 * time.Hour, -time.Second, -300 * time.Microsecond, 300 * time.Microsecond, time.Minute} {
		for _, lists := range [][][]capture.Frame{{a, later(b, by, nil)}, {later(b, by, nil), a}} {
			r, got := filed(t, lists...)
			if r.Capture.Tap != bothPorts || r.Capture.Clocks.Abs().Round(time.Microsecond) != by.Abs() || len(got) != len(want) {
				t.Errorf("%v: %+v, %d sights, want %d", by, r.Capture, len(got), len(want))
			}
			if len(r.Capture.Doubts()) != 1 {
				t.Errorf("%v: doubts %v", by, r.Capture.Doubts())
			}
		}
	}
}
