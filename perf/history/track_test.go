package history

import (
	"math"
	"testing"
)

func night(day, host, kernel string, points ...Point) Night {
	return Night{
		Header: Header{Night: day, Started: day + "T01:00:00Z", Commit: "c" + day, Host: host, Kernel: kernel},
		Points: points,
	}
}

func noisy(value float64) Point {
	return Point{Series: Series{Name: "n", Bench: "netns", Class: Noisy}, Values: []float64{value}}
}

// Hosts are apart where time is real and one where it is not; order of reading and repetition do not matter.
func TestTracks(t *testing.T) {
	exact := Point{Series: Series{Name: "e", Bench: "sim", Class: Exact}, Values: []float64{7}}
	nights := []Night{
		night("2026-01-02", "a", "6.1", noisy(2), exact), night("2026-01-01", "a", "6.1", noisy(1), exact),
		night("2026-01-02", "b", "6.1", noisy(3), exact), night("2026-01-01", "a", "6.1", noisy(1), exact),
	}
	nights[0].Alarms = []Alarm{{Series: "n", Host: "a", Since: "2026-01-02"}, {Series: "e"}}
	all := Tracks(nights)
	if len(all) != 3 {
		t.Fatalf("%d tracks: %+v", len(all), all)
	}
	e, a, b := all[0], all[1], all[2]
	if e.Name != "e" || len(e.Entries) != 3 || e.Host != "" || len(e.Alarms) != 0 {
		t.Errorf("exact: %+v", e)
	}
	if a.Host != "a" || len(a.Entries) != 2 || a.Entries[0].Value() != 1 || a.Last().Value() != 2 ||
		len(a.Alarms) != 1 {
		t.Errorf("on a: %+v", a)
	}
	if b.Host != "b" || len(b.Entries) != 1 {
		t.Errorf("on b: %+v", b)
	}
}

// Another kernel begins anew for what is real, and so does another Spec for everything; gaps are stepped over.
func TestSegments(t *testing.T) {
	gap := noisy(0)
	gap.Values, gap.Status = nil, "INVALID"
	other := noisy(1)
	other.Spec = "x"
	all := Tracks([]Night{
		night(
			"2026-01-01",
			"a",
			"6.1",
			noisy(1),
		), night("2026-01-02", "a", "6.1", gap), night("2026-01-03", "a", "6.1", noisy(2)),
		night(
			"2026-01-04",
			"a",
			"6.2",
			noisy(1),
		), night("2026-01-05", "a", "6.1", noisy(1)), night("2026-01-06", "a", "6.1", other),
	})
	tr := &all[0]
	for i, want := range []string{"", "2026-01-01", "2026-01-01", "", "2026-01-03", ""} {
		got := ""
		if e := tr.Before(i); e != nil {
			got = e.Night
		}
		if got != want {
			t.Errorf("before %s: %q, want %q", tr.Entries[i].Night, got, want)
		}
	}
}

func TestValue(t *testing.T) {
	p := noisy(3)
	p.Values, p.Reference = []float64{3, 100, 2}, []float64{2, 1, 50}
	if p.Value() != 1.5 {
		t.Errorf("normalised: %v", p.Value())
	}
	p.Class, p.Values = Paired, []float64{1, 2}
	if p.Value() != 1.5 || p.Gap() {
		t.Errorf("mean: %v", p.Value())
	}
	p.Values = nil
	if !math.IsNaN(p.Value()) || !p.Gap() {
		t.Errorf("a gap has the value %v", p.Value())
	}
	if p.Word = "PASS"; p.Gap() {
		t.Error("a verdict is a gap")
	}
}
