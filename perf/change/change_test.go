package change

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
)

// day returns a night of a commit on a host with a kernel.
func day(n int, commit, host, kernel string, points ...history.Point) history.Night {
	date := fmt.Sprintf("2026-%02d-%02d", 1+n/28, 1+n%28)
	return history.Night{Points: points,
		Header: history.Header{Night: date, Started: date + "T01:00:00Z", Commit: commit, Host: host, Kernel: kernel}}
}

func exactly(name string, better history.Better, value float64) history.Point {
	return history.Point{
		Series: history.Series{Name: name, Bench: "sim", Class: history.Exact, Better: better},
		Values: []float64{value},
	}
}

func verdict(class history.Class, word string) history.Point {
	bench := map[history.Class]string{history.Exact: "sim", history.Noisy: "netns"}[class]
	return history.Point{Series: history.Series{Name: "verdict", Bench: bench, Class: class}, Word: word}
}

func noisily(value float64) history.Point {
	return history.Point{
		Series: history.Series{Name: "noisy", Bench: "netns", Class: history.Noisy, Better: history.Up},
		Values: []float64{value},
	}
}

// last returns the report about the last of some nights.
func last(nights ...history.Night) *Report {
	return Of(history.Tracks(nights), nights[len(nights)-1].Night, Usual, nil)
}

// said returns a report as lines.
func said(r *Report) string {
	var b strings.Builder
	for _, e := range r.Entries {
		fmt.Fprintf(&b, "%s..%s%s:", e.Before, e.Now, e.Segment)
		for _, x := range e.Changes {
			fmt.Fprintf(&b, " %s %s;", x.Name, x.Kind)
		}
		fmt.Fprintf(&b, "%s\n", strings.Join(e.Series, ","))
	}
	for _, s := range r.Suspected {
		fmt.Fprintf(&b, "suspected %s since %s\n", s.Name, s.Since)
	}
	for _, g := range r.Gaps {
		fmt.Fprintf(&b, "gap %s %s\n", g.Series, g.Status)
	}
	return b.String()
}

func TestOf(t *testing.T) {
	gap := noisily(1)
	gap.Values, gap.Status = nil, "INVALID"
	other := exactly("a", history.Up, 5)
	other.Spec = "other"
	for _, tt := range []struct {
		name   string
		nights []history.Night
		want   string
	}{
		{"nothing", []history.Night{day(0, "c1", "h", "", exactly("a", history.Up, 5)), day(1, "c2", "h", "",
			exactly("a", history.Up, 5))}, ""},
		{"the first night", []history.Night{day(0, "c1", "h", "", exactly("a", history.Up, 5))}, ""},
		{"one cause", []history.Night{
			day(0, "c1", "h", "", exactly("a", history.Up, 5), exactly("b", history.Down, 5), exactly("c", "", 5),
				verdict(history.Exact, "PASS")),
			day(1, "c2", "g", "", exactly("a", history.Up, 6), exactly("b", history.Down, 6), exactly("c", "", 6),
				verdict(history.Exact, "FAIL X-1"))},
			"c1..c2: verdict new failure; b regressed; a improved; c changed;\n"},
		{"another rule", []history.Night{day(0, "c1", "h", "", verdict(history.Exact, "FAIL X-1")), day(1, "c2", "h",
			"", verdict(history.Exact, "FAIL X-1 X-2"))},
			"c1..c2: verdict new failure;\n"},
		{"one rule less", []history.Night{day(0, "c1", "h", "", verdict(history.Exact, "FAIL X-1 X-2")), day(1, "c2",
			"h", "", verdict(history.Exact, "FAIL X-1"))},
			"c1..c2: verdict fixed;\n"},
		{"the same commit", []history.Night{day(0, "c1", "h", "", exactly("a", history.Up, 5)), day(0, "c1", "g", "",
			exactly("a", history.Up, 6))},
			"c1..c1: a not repeatable;\n"},
		{"a working tree", []history.Night{day(0, "c1+changes", "h", "", exactly("a", history.Up, 5)), day(1,
			"c1+changes", "h", "", exactly("a", history.Up, 6))},
			"c1+changes..c1+changes: a improved;\n"},
		{"over a gap", []history.Night{day(0, "c1", "h", "", noisily(1)), day(1, "c2", "h", "", gap)},
			"gap noisy INVALID\n"},
		{"another Spec", []history.Night{day(0, "c1", "h", "", exactly("a", history.Up, 6)), day(1, "c2", "h", "",
			other)}, "..another Spec:a\n"},
		{"another kernel", []history.Night{day(0, "c1", "h", "6.1", noisily(1), exactly("a", "", 1)), day(1, "c2",
			"h", "6.2", noisily(2), exactly("a", "", 1))},
			"..kernel 6.1 → 6.2 on h:noisy\n"},
		{"another host", []history.Night{day(0, "c1", "h", "6.1", noisily(1)), day(1, "c2", "g", "6.1", noisily(2))},
			"..new host g:noisy\n"},
		{"one flaky night", []history.Night{day(0, "c1", "h", "", verdict(history.Noisy, "PASS")), day(1, "c2", "h",
			"", verdict(history.Noisy, "FAIL X-1"))},
			"suspected verdict since 2026-01-02\n"},
		{"a second one", []history.Night{day(0, "c1", "h", "", verdict(history.Noisy, "PASS")), day(1, "c2", "h", "",
			verdict(history.Noisy, "FAIL X-1")),
			day(2, "c3", "h", "", verdict(history.Noisy, "FAIL X-1"))}, "c1..c3: verdict new failure;\n"},
		{"a third one", []history.Night{day(0, "c1", "h", "", verdict(history.Noisy, "PASS")), day(1, "c2", "h", "",
			verdict(history.Noisy, "FAIL X-1")), day(2, "c3", "h", "", verdict(history.Noisy, "FAIL X-1")),
			day(3, "c4", "h", "", verdict(history.Noisy, "FAIL X-1"))}, ""},
	} {
		if got := said(last(tt.nights...)); strings.ReplaceAll(got, "..:", ":") != tt.want &&
			strings.ReplaceAll(got, "...", "..") != tt.want {
			t.Errorf("%s:\n%swant\n%s", tt.name, got, tt.want)
		}
	}
	if r := last(day(0, "c1", "h", "", exactly("a", history.Up, 5)), day(1, "c2", "h", "",
		exactly("a", history.Up, 4))); !r.Worse() || r.Compared != 1 || r.Entries[0].Changes[0].Relative.Value != -0.2 {
		t.Errorf("%+v", r)
	}
}

// Points with equal values are unchanged, whatever else the night has; points with other seeds are not compared.
func TestPaired(t *testing.T) {
	paired := func(name string, by float64, from int) history.Point {
		p := history.Point{Series: history.Series{Name: name, Bench: "sim", Class: history.Paired, Better: history.Up}}
		for seed := range 16 {
			p.Seeds, p.Values = append(p.Seeds, uint64(from+seed)), append(p.Values, (10+float64(seed))*by)
		}
		return p
	}
	r := last(
		day(
			0,
			"c1",
			"h",
			"",
			paired("same", 1, 0),
			paired("better", 1, 0),
			paired("worse", 1, 0),
			paired("seeds", 1, 0),
			paired("little", 1, 0),
		),
		day(
			1,
			"c2",
			"h",
			"",
			paired("same", 1, 0),
			paired("better", 1.03, 0),
			paired("worse", 0.97, 0),
			paired("seeds", 2, 5),
			paired("little", 1.0001, 0),
		),
	)
	if got, want := said(r), "c1..c2: worse regressed; better improved;\nother seeds:seeds\n"; strings.TrimPrefix(
		got,
		"..",
	) != want &&
		strings.ReplaceAll(got, "..other", "other") != want {
		t.Errorf("%s", got)
	}
	if x := r.Entries[0].Changes[0]; math.Abs(x.Relative.Value+0.03) > 1e-9 || x.P > 1e-4 {
		t.Errorf("%+v, %+v", x, x.Relative)
	}
}

// series returns nights of a noisy number.
func series(values ...float64) (nights []history.Night) {
	for i, x := range values {
		nights = append(nights, day(i, fmt.Sprintf("c%d", i), "h", "6.1", noisily(x)))
	}
	return nights
}

// steady returns n values of a level with a little noise, and then the values of then.
func steady(n int, then ...float64) (values []float64) {
	for i := range n {
		values = append(values, 1+0.01*float64(i*7%5-2))
	}
	return append(values, then...)
}

// A step is suspected at once, with the night that began it, and compared with a build of the level before. A level
// that begins with a confirmed change is learnt before it can be suspected to end.
func TestSuspicion(t *testing.T) {
	nights := series(steady(30, 0.9, 0.91)...)
	r := last(nights...)
	if len(r.Suspected) != 1 || len(r.Entries) != 0 {
		t.Fatalf("%s", said(r))
	}
	if s := r.Suspected[0]; s.Since != nights[30].Night || s.Before.Commit != "c0" ||
		s.Now.Commit != "c31" || s.Score > -2 {
		t.Errorf("%+v", s)
	}
	nights[31].Alarms = []history.Alarm{{Series: "noisy", Host: "h", Since: nights[30].Night}}
	if r := last(append(nights, day(40, "c40", "h", "6.1", noisily(0.9)))...); len(r.Suspected) != 0 {
		t.Errorf("%s", said(r))
	}
	if r := last(series(steady(12, 0.5)...)...); len(r.Suspected) != 0 {
		t.Errorf("thirteen nights show no level: %s", said(r))
	}
}

// An outlier of one night is not confirmed, because the host slowed both builds in that night.
func TestOneBadNight(t *testing.T) {
	s := &last(series(steady(30, 0.5)...)...).Suspected[0]
	l := &life{machine: machine{Rand: newRand(7), noise: normal}}
	l.night()
	l.host[0] = 0.5
	if x, err := Confirm(s, Usual, func(bool) (float64, error) { return l.run(1), nil }); !errors.Is(
		err,
		ErrNotConfirmed,
	) {
		t.Errorf("%+v, %v", x, err)
	}
}

// A real change is confirmed with its size, and only in the direction that was suspected.
func TestConfirm(t *testing.T) {
	s := last(series(steady(30, 0.9)...)...).Suspected[0]
	l := &life{machine: machine{Rand: newRand(8), noise: normal}}
	l.night()
	order := ""
	measure := func(new bool) (float64, error) {
		if new {
			order += "n"
			return l.run(95), nil
		}
		order += "o"
		return l.run(100), nil
	}
	x, err := Confirm(&s, Usual, measure)
	if err != nil || x.Kind != Regressed || math.Abs(x.Relative.Value+0.05) > 0.01 || x.P >= level ||
		x.Before.Commit != "c0" {
		t.Fatalf("%+v, %v", x, err)
	}
	if len(order) != 2*(looks+turns) || !strings.HasPrefix(order, "onnoonno") {
		t.Errorf("runs in the order %s", order)
	}
	if a := x.Alarm("2026-01-09"); a.Series != "noisy" || a.Since != "2026-01-09" || a.Relative >= 0 || a.Old != "c0" {
		t.Errorf("%+v", a)
	}
	s.Score = -s.Score
	if _, err := Confirm(&s, Usual, measure); !errors.Is(err, ErrNotConfirmed) {
		t.Error(err)
	}
	broken := errors.New("no link")
	if _, err := Confirm(&s, Usual, func(bool) (float64, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, err := Confirm(&s, Usual, func(bool) (float64, error) { return math.NaN(), nil }); err == nil ||
		errors.Is(err, ErrNotConfirmed) {
		t.Error(err)
	}
}

// A confirmed change is in the entry of its commits, with their other changes.
func TestConfirmedIsAnEntry(t *testing.T) {
	x := Change{
		Series: history.Series{Name: "noisy"},
		Kind:   Regressed,
		Before: Side{Commit: "c1"},
		Now:    Side{Commit: "c2"},
	}
	nights := []history.Night{
		day(0, "c1", "h", "", exactly("a", history.Up, 5)),
		day(1, "c2", "h", "", exactly("a", history.Up, 4)),
	}
	r := Of(history.Tracks(nights), nights[1].Night, Usual, []Change{x})
	if len(r.Entries) != 1 || len(r.Entries[0].Changes) != 2 {
		t.Errorf("%s", said(r))
	}
}

// The score has the sign of a step, does not depend on the unit, and is finite for all values.
func TestScoreOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e6, 1e6), 0, 80).Draw(t, "values")
		s := Score(values)
		if math.IsNaN(s) || math.IsInf(s, 0) {
			t.Fatalf("%v", s)
		}
		for i := range values {
			values[i] *= 8
		}
		if by := Score(values); math.Abs(by-s) > 1e-6*(1+math.Abs(s)) {
			t.Fatalf("%v, and %v in another unit", s, by)
		}
	})
	if Score(steady(30, 0.5)) >= 0 || Score(steady(30, 1.5)) <= 0 || Score(nil) != 0 {
		t.Error("the direction is lost")
	}
}
