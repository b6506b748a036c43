package rules

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/rests.txt anew")

// TestRestsGolden is the table of the properties that each rule rests on, for review. Rewrite it with go test
// ./conformance/rules -run TestRestsGolden -rewrite, and read the difference.
func TestRestsGolden(t *testing.T) {
	const path = "testdata/rests.txt"
	var b strings.Builder
	for _, r := range All() {
		fmt.Fprintf(&b, "%-14s %v\n", r.ID, r.RestsOn())
	}
	if *rewrite {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != b.String() {
		t.Errorf("%v: %s is not what the rules declare; rewrite it and read the difference", err, path)
	}
}

// TestNeedsAndRests compares the properties that rules rest on with their needs: a rule that follows packets between
// the taps rests on both taps.
func TestNeedsAndRests(t *testing.T) {
	alone := []string{"PACK-ICRC-001"} // judges single frames on either hop
	for _, r := range All() {
		rests := r.RestsOn()
		if !rests.Has(validity.Frames) {
			t.Errorf("%s rests on %v, and not even on frames", r.ID, rests)
		}
		both := r.Needs&rule.Fates != 0 || r.Needs&rule.Both == rule.Both
		if both && !rests.Has(validity.Capture|validity.Accounts) && !slices.Contains(alone, r.ID) {
			t.Errorf("%s needs both taps and rests on %v", r.ID, rests)
		}
		if r.Needs&rule.Timers != 0 && !rests.Has(validity.Lateness|validity.Clock) {
			t.Errorf("%s needs timers and rests on %v", r.ID, rests)
		}
	}
}

// TestRestsOnWhatMovesIt changes the fixtures of each rule. A rule that finds more or less in a trace with stretched
// times rests on lateness and clock. A rule that finds more when the capture misses a frame, or shows one that did not
// reach the endpoint, rests on the capture.
func TestRestsOnWhatMovesIt(t *testing.T) {
	for _, r := range All() {
		rests := r.RestsOn()
		for _, s := range spoilable(t, &r) {
			found := s.judge(s.entries)
			if !rests.Has(validity.Lateness | validity.Clock) {
				for _, factor := range []float64{0.001, 0.03, 30, 1000} {
					if n := s.judge(s.stretched(factor)); n != found {
						t.Errorf("%s rests on %v: %s with times %g as long gives %d findings in place of %d", r.ID,
							rests, s.name, factor, n, found)
					}
				}
			}
			if rests.Has(validity.Capture) {
				continue
			}
			for i := range s.entries {
				for what, entries := range s.misseen(i) {
					if n := s.judge(entries); n > found {
						t.Errorf("%s rests on %v: %s with entry %d %s gives %d findings in place of %d", r.ID, rests,
							s.name, i, what, n, found)
					}
				}
			}
		}
	}
}

// spoiled is a fixture of a rule, to be judged in changed forms.
type spoiled struct {
	name    string
	rule    *rule.Rule
	header  trace.Header
	options rule.Options
	entries []entry
	end     vtime.Time
}

// entry is a record or an event.
type entry struct {
	record *trace.Record
	event  *trace.Event
}

func (e *entry) at() vtime.Time {
	if e.record != nil {
		return e.record.Time()
	}
	return e.event.At
}

// Packet implements trace.Sink.
func (s *spoiled) Packet(r *trace.Record) { s.entries = append(s.entries, entry{record: r.Clone()}) }

// Event implements trace.Sink.
func (s *spoiled) Event(e *trace.Event) {
	kept := *e
	s.entries = append(s.entries, entry{event: &kept})
}

// End implements trace.Sink.
func (s *spoiled) End(at vtime.Time) { s.end = at + 1 }

// spoilable returns the fixtures of a rule.
func spoilable(t *testing.T, r *rule.Rule) (list []*spoiled) {
	t.Helper()
	if r.New == nil {
		return nil
	}
	paths, err := filepath.Glob(filepath.Join("*", "testdata", r.ID, "*.trace"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no fixtures, %v", r.ID, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := fixture.Parse(bytes.NewReader(text), 0)
		if err != nil {
			t.Fatal(err)
		}
		features := slices.Clone(r.Features)
		if len(features) == 0 {
			features = []string{"rc"}
		}
		for line := range strings.Lines(string(text)) {
			if words, ok := strings.CutPrefix(line, "# features "); ok {
				features = append(features, strings.Fields(words)...)
			}
		}
		s := &spoiled{name: filepath.Base(path), rule: r, header: f.Header, options: rule.Options{Features: features}}
		f.Play(s)
		list = append(list, s)
	}
	return list
}

// judge returns the number of findings.
func (s *spoiled) judge(entries []entry) int {
	j := rule.NewJudge(s.header, []rule.Rule{*s.rule}, s.options)
	line, end := trace.NewTimeline(&s.header, j), s.end
	for _, e := range entries {
		end = max(end, e.at()+1)
		if e.record != nil {
			line.Packet(e.record.Clone())
		} else {
			event := *e.event
			line.Event(&event)
		}
	}
	line.End(end)
	return j.Verdicts()[0].Total
}

// stretched returns the entries with all times multiplied by factor.
func (s *spoiled) stretched(factor float64) []entry {
	stretch := func(at vtime.Time) vtime.Time {
		if at == vtime.Never {
			return at
		}
		return vtime.Time(float64(at) * factor)
	}
	out := slices.Clone(s.entries)
	for i, e := range out {
		if e.record != nil {
			out[i].record = e.record.Clone()
			out[i].record.Sent, out[i].record.Recv = stretch(e.record.Sent), stretch(e.record.Recv)
		} else {
			event := *e.event
			event.At = stretch(event.At)
			out[i].event = &event
		}
	}
	return out
}

// misseen returns, by the kind of error, the entries with one record that the taps report wrongly.
func (s *spoiled) misseen(i int) map[string][]entry {
	r := s.entries[i].record
	if r == nil {
		return nil
	}
	out := map[string][]entry{"missed": slices.Delete(slices.Clone(s.entries), i, i+1)}
	other := r.Clone()
	switch r.Fate {
	case trace.Delivered:
		other.Fate, other.Recv = trace.Dropped, vtime.Never
	case trace.Dropped:
		other.Fate, other.Recv = trace.Delivered, r.Sent+1
	default:
		return out
	}
	entries := slices.Clone(s.entries)
	entries[i].record = other
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.at(), b.at()) })
	out["told as "+other.Fate.String()] = entries
	return out
}
