package rules

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// The views from which a planted edit is judged, as foreign captures: only frames are known.
const (
	atRequester = 'S'
	atResponder = 'R'
	atBoth      = 'P'
	between     = 'M'
	everywhere  = "SRPM"
)

// TestPlanted records our own engine, plants a violation in the frames, and judges the frames that each tap would have
// captured. A view that shows the violation must FAIL by one of the edit's rules; in any other view none of them may
// PASS.
func TestPlanted(t *testing.T) {
	recorded := map[string][]shot{}
	for name, spec := range plantedRuns {
		recorded[name] = record(t, spec)
		t.Run("clean/"+name, func(t *testing.T) {
			for _, view := range everywhere {
				for _, v := range judgeView(t, view, recorded[name]) {
					if v.Status == rule.Fail {
						t.Errorf("%c: %s fails on a clean run: %v", view, v.Rule, v.Findings[0])
					}
				}
			}
		})
	}
	for _, e := range planted {
		t.Run(e.name, func(t *testing.T) {
			shots := e.plant(t, recorded[e.run])
			for _, view := range everywhere {
				e.judge(t, view, judgeView(t, view, shots))
			}
		})
	}
}

// edit is a violation to plant.
type edit struct {
	name  string
	run   string // name in plantedRuns
	rules string // one of them must FAIL; separated by spaces
	seen  string // the views that can show it
	edit  func(*frames)
}

// plant returns the edited recording.
func (e *edit) plant(t *testing.T, shots []shot) []shot {
	f := frames{}
	for i := range shots {
		s := shots[i]
		s.raw = bytes.Clone(s.raw)
		f.list = append(f.list, &s)
	}
	e.edit(&f)
	if f.edits == 0 {
		t.Fatal("nothing was edited")
	}
	out := make([]shot, len(f.list))
	for i := range out {
		out[i] = *f.list[i]
	}
	return out
}

// judge compares the verdicts of a view with those that the edit must cause.
func (e *edit) judge(t *testing.T, view rune, verdicts []rule.Verdict) {
	var failed, passed, other []string
	for _, v := range verdicts {
		named := slices.Contains(strings.Fields(e.rules), v.Rule)
		switch {
		case named && v.Status == rule.Fail:
			failed = append(failed, v.Rule)
		case named && v.Status == rule.Pass:
			passed = append(passed, v.Rule)
		case v.Status == rule.Fail:
			other = append(other, fmt.Sprintf("%s: %s", v.Rule, v.Findings[0].Text))
		}
	}
	shows := strings.ContainsRune(e.seen, view)
	switch {
	case shows && failed == nil:
		t.Errorf("%c: none of %s fails; PASS: %v; others fail: %q", view, e.rules, passed, other)
	case !shows && failed == nil && passed != nil:
		t.Errorf("%c: %v pass although this view cannot show what was done; others fail: %q", view, passed, other)
	}
}

// shot is one packet of a recording.
type shot struct {
	raw        []byte
	sent, recv vtime.Time // recv is vtime.Never if the packet did not arrive
	from       trace.Side
}

// frames is a recording that an edit changes.
type frames struct {
	list  []*shot
	edits int
}

// decoded returns the frame of a shot.
func (s *shot) decoded() (f roce.Frame, ok bool) {
	err := f.Decode(s.raw)
	return f, err == nil
}

// set replaces the packet of a shot; the encoder sets lengths and ICRC.
func (f *frames) set(s *shot, change func(*roce.Frame)) {
	h, ok := s.decoded()
	if !ok {
		return
	}
	h.Packet.Payload, h.Packet.Pad = bytes.Clone(h.Packet.Payload), 0
	change(&h)
	h.Packet.Len = len(h.Packet.Payload)
	s.raw = h.AppendTo(nil)
	f.edits++
}

// which selects packets.
type which func(s *shot, p *roce.Packet) bool

// nth returns the nth packet, from 0 on, that w selects; nil when there is none.
func (f *frames) nth(n int, w which) *shot {
	for _, s := range f.list {
		if h, ok := s.decoded(); ok && w(s, &h.Packet) {
			if n == 0 {
				return s
			}
			n--
		}
	}
	return nil
}

// all changes every packet that w selects.
func (f *frames) all(w which, change func(*roce.Frame)) {
	for _, s := range f.list {
		if h, ok := s.decoded(); ok && w(s, &h.Packet) {
			f.set(s, change)
		}
	}
}

// after inserts a changed copy of a shot after it.
func (f *frames) after(s *shot, change func(*roce.Frame)) {
	c := *s
	c.raw = bytes.Clone(s.raw)
	c.sent, c.recv = s.sent.Add(vtime.Microsecond), s.recv
	if c.recv != vtime.Never {
		c.recv = c.recv.Add(vtime.Microsecond)
	}
	f.set(&c, change)
	f.list = slices.Insert(f.list, slices.Index(f.list, s)+1, &c)
}

// at adds a changed copy of a shot, later by the given time.
func (f *frames) at(s *shot, later vtime.Duration, change func(*roce.Frame)) {
	c := *s
	if c.recv == vtime.Never {
		c.recv = c.sent.Add(500 * vtime.Microsecond)
	}
	f.shift(&c, later)
	f.set(&c, change)
	f.list = append(f.list, &c)
}

// shift delays a packet.
func (f *frames) shift(s *shot, by vtime.Duration) {
	f.edits++
	if s.sent = s.sent.Add(by); s.recv != vtime.Never {
		s.recv = s.recv.Add(by)
	}
}

// drop removes packets from the recording.
func (f *frames) drop(w which) {
	f.list = slices.DeleteFunc(f.list, func(s *shot) bool {
		h, ok := s.decoded()
		return ok && w(s, &h.Packet)
	})
	f.edits++
}

// record plays a Spec in virtual time and returns the packets.
func record(t *testing.T, text string) (list []shot) {
	t.Helper()
	spec, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	impl := gbn.Implementation()
	job, err := bench.NewJob(spec, [2]engine.Implementation{impl, impl})
	if err != nil {
		t.Fatal(err)
	}
	job.Bytes = true
	run := judging.Run{Job: job, Bench: sim.Bench{}, Sink: func(trace.Header, trace.Viewer) (trace.Sink, error) {
		return (*keeper)(&list), nil
	}}
	if _, err := run.Play(context.Background()); err != nil {
		t.Fatal(err)
	}
	return list
}

// keeper keeps packets as shots.
type keeper []shot

// Packet implements trace.Sink.
func (k *keeper) Packet(r *trace.Record) {
	*k = append(*k, shot{raw: bytes.Clone(r.Raw), sent: r.Sent, recv: r.Recv, from: r.From})
}

// Event implements trace.Sink.
func (*keeper) Event(*trace.Event) {}

// End implements trace.Sink.
func (*keeper) End(vtime.Time) {}

// judgeView judges the frames that a view shows.
func judgeView(t *testing.T, view rune, shots []shot) []rule.Verdict {
	t.Helper()
	path, taps := t.TempDir(), []rune{view}
	if view == atBoth {
		taps = []rune{atRequester, atResponder}
	}
	for _, at := range taps {
		tracetest.WritePcap(t, filepath.Join(path, map[rune]string{atRequester: "A.pcap", atResponder: "B.pcap",
			between: "x.pcap"}[at]), 1<<16, captured(at, shots))
	}
	tap := recording.Tap{}
	var err error
	if at := map[rune]string{atRequester: "requester", atResponder: "responder", between: "between"}[view]; at != "" {
		if tap, err = recording.ParseTap(at); err != nil {
			t.Fatal(err)
		}
	}
	r, err := recording.Read(path, recording.Stated{Tap: tap})
	if err != nil {
		t.Fatal(err)
	}
	impl := gbn.Implementation()
	j := rule.NewJudge(r.Header, All(), judging.Declared([2]engine.Implementation{impl, impl}, nil))
	if err := r.Play(trace.NewTimeline(&r.Header, j)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	return j.Verdicts()
}

// captured returns the frames that a tap sees, in the order of time.
func captured(at rune, shots []shot) (list []capture.Frame) {
	for i := range shots {
		s := &shots[i]
		when := s.sent
		switch {
		case at == between && s.recv != vtime.Never:
			when = s.sent + (s.recv-s.sent)/2
		case at == between || (at == atRequester) == (s.from == trace.A):
		default:
			when = s.recv
		}
		if when != vtime.Never {
			list = append(list, capture.Frame{Wall: time.Unix(1_700_000_000, int64(when)/1000), Raw: s.raw})
		}
	}
	slices.SortStableFunc(list, func(x, y capture.Frame) int {
		return cmp.Compare(x.Wall.UnixNano(), y.Wall.UnixNano())
	})
	return list
}
