package store

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sample is a night with so many points.
func sample(day int, host string, points int) *history.Night {
	n := &history.Night{Header: history.Header{
		Night: fmt.Sprintf(
			"20%02d-%02d-%02d",
			26+day/336,
			1+day/28%12,
			1+day%28,
		), Started: fmt.Sprintf("20%02d-%02d-%02dT01:00:00Z", 26+day/336, 1+day/28%12, 1+day%28),
		Version: "0.1.0", Commit: fmt.Sprintf("%040x", day), Host: host, Kernel: "6.12.1",
	}}
	for i := range points {
		n.Points = append(n.Points, history.Point{
			Series: history.Series{
				Name:   fmt.Sprintf("matrix irn link-%d goodput", i),
				Bench:  "sim",
				Class:  history.Exact,
				Unit:   "bit/s",
				Better: history.Up,
			},
			Values: []float64{
				9.1e9 + float64(i)*1.25,
			}, Seeds: []uint64{1}, Spec: fmt.Sprintf("%032x", i), Run: "irn/link",
		})
	}
	return n
}

// files are the names in a folder, hidden ones included.
func files(t testing.TB, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// What is written is read; what is added twice is there once.
func TestAddAndRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "store")
	n := sample(3, "a", 4)
	n.Points[1].Values, n.Points[1].Status = nil, "INVALID"
	n.Points[2].Values, n.Points[2].Word = nil, "FAIL GBN-NAK-002"
	n.Alarms = []history.Alarm{{Series: "x", Host: "a", Since: "2026-01-02", Relative: -0.02, P: 1e-5}}
	for range 2 {
		path, err := Add(dir, n)
		must(t, err)
		if !named.MatchString(filepath.Base(path)) {
			t.Error(path)
		}
	}
	c, err := Read(dir)
	must(t, err)
	if diff := cmp.Diff([]history.Night{*n}, c.Nights); diff != "" || len(c.Skipped) != 0 || len(files(t, dir)) != 1 {
		t.Errorf("%s\n%v", diff, c.Skipped)
	}
}

// A file that was cut, one that is not ours and one of a newer program are named, skipped and left as they are.
func TestWhatIsSkipped(t *testing.T) {
	dir := t.TempDir()
	whole, err := Add(dir, sample(1, "a", 3))
	must(t, err)
	cut, err := Add(dir, sample(2, "a", 3))
	must(t, err)
	must(t, os.Truncate(cut, 200))
	must(t, os.WriteFile(filepath.Join(dir, "README.md"), []byte("mine"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("x"), 0o644))
	newer := []byte(`{"gauntlet":"night","format":2,"night":"2027-01-01"}` + "\n")
	_, err = put(dir, "2027-01-01-"+hash(newer)+".ndjson", newer)
	must(t, err)
	strange := []byte("hello\n")
	_, err = put(dir, "2027-01-02-"+hash(strange)+".ndjson", strange)
	must(t, err)
	moved := []byte(`{"gauntlet":"night","format":1,"night":"2026-01-01"}` + "\n")
	_, err = put(dir, "2027-01-03-"+hash(moved)+".ndjson", moved)
	must(t, err)
	before := files(t, dir)
	c, err := Read(dir)
	must(t, err)
	var said []string
	for _, s := range c.Skipped {
		said = append(said, s.String())
	}
	for _, want := range []string{"README.md: skipped: not a file of a store",
		filepath.Base(cut) + ": skipped: its content has another hash",
		"format 2, and this program reads 1", "its first line is not that of a night", "is of the night 2026-01-01"} {
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("%q is not in\n%s", want, strings.Join(said, "\n"))
		}
	}
	if len(c.Nights) != 1 || len(said) != 5 || len(Damaged(c.Skipped)) != 1 || !cmp.Equal(before, files(t, dir)) {
		t.Errorf("%d nights beside %s, %v; %s", len(c.Nights), whole, said, files(t, dir))
	}
	if _, err := Read(filepath.Join(dir, "none")); err == nil ||
		!strings.Contains(err.Error(), "store add makes a store") {
		t.Error(err)
	}
}

// Fields and lines of a newer program survive merging, byte by byte, though this one reads past them.
func TestMergeKeepsWhatIsUnknown(t *testing.T) {
	from, into := t.TempDir(), t.TempDir()
	text := []byte(`{"gauntlet":"night","format":1,"night":"2027-01-01","colour":"red"}
{"later":1,"series":"x","bench":"sim","class":"exact","values":[2],"weight":{"kg":3}}
{"mystery":true}
`)
	name := "2027-01-01-" + hash(text) + ".ndjson"
	_, err := put(from, name, text)
	must(t, err)
	newer := []byte(`{"gauntlet":"night","format":9,"night":"2027-01-01"}` + "\n")
	_, err = put(from, "2027-01-01-"+hash(newer)+".ndjson", newer)
	must(t, err)
	_, err = Add(into, sample(1, "a", 1))
	must(t, err)
	m, err := Merge(into, []string{from, from})
	must(t, err)
	got, err := os.ReadFile(filepath.Join(into, name))
	must(t, err)
	if !bytes.Equal(got, text) || m.Copied != 2 || m.Had != 2 || len(m.Skipped) != 0 {
		t.Errorf("%s\n%+v", got, m)
	}
	c, err := Read(into)
	must(t, err)
	if len(c.Nights) != 2 || len(c.Nights[1].Points) != 1 || c.Nights[1].Points[0].Values[0] != 2 {
		t.Errorf("%+v", c.Nights)
	}
}

// Merging is union: in any order and as often as one likes, damage left out.
func TestMergeIsUnion(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		stores := []string{t.TempDir(), t.TempDir(), t.TempDir()}
		all := map[string]bool{}
		for _, day := range rapid.SliceOfN(rapid.IntRange(0, 20), 0, 8).Draw(rt, "days") {
			dir := stores[rapid.IntRange(0, 2).Draw(rt, "store")]
			path, err := Add(dir, sample(day, "a", 2))
			must(t, err)
			all[filepath.Base(path)] = true
		}
		into := t.TempDir()
		for _, i := range rapid.SliceOfN(rapid.Permutation([]int{0, 1, 2}), 1, 2).Draw(rt, "order") {
			for _, k := range i {
				_, err := Merge(into, stores[k:k+1])
				must(t, err)
			}
		}
		if got := files(t, into); len(got) != len(all) {
			rt.Fatalf("%v, want the %d of %v", got, len(all), all)
		}
	})
}

func TestMergeSkipsDamage(t *testing.T) {
	from, into := t.TempDir(), t.TempDir()
	path, err := Add(from, sample(1, "a", 5))
	must(t, err)
	must(t, os.Truncate(path, 50))
	m, err := Merge(into, []string{from})
	must(t, err)
	if len(Damaged(m.Skipped)) != 1 || m.Copied != 0 || len(files(t, into)) != 0 {
		t.Errorf("%+v, %v", m, files(t, into))
	}
	_, err = Add(from, sample(1, "a", 5)) // who has the whole file mends the other
	must(t, err)
	if c, err := Read(from); err != nil || len(c.Nights) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

// Many write into one store at once, some of them the same.
func TestNightsAtOnce(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			if _, err := Add(dir, sample(i/2, "a", 50)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	c, err := Read(dir)
	must(t, err)
	if len(c.Nights) != 12 || len(c.Skipped) != 0 || len(files(t, dir)) != 12 {
		t.Errorf("%d nights, %v, %v", len(c.Nights), c.Skipped, files(t, dir))
	}
}

func TestAddRefuses(t *testing.T) {
	dir := t.TempDir()
	bad := sample(1, "a", 1)
	bad.Points[0].Values[0] = math.NaN()
	undated := sample(1, "a", 1)
	undated.Night = "../tonight"
	long := sample(1, "a", 1)
	long.Points[0].Values = make([]float64, maxLine)
	for want, n := range map[string]*history.Night{"is no number": bad, "want a day": undated,
		"a line is longer": long} {
		if _, err := Add(dir, n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if len(files(t, dir)) != 0 {
		t.Error(files(t, dir))
	}
}

// BenchmarkReadYear reads a year of 500 series: 182 500 points in 365 files.
func BenchmarkReadYear(b *testing.B) {
	dir := b.TempDir()
	size := 0
	for day := range 365 {
		path, err := Add(dir, sample(day, "a", 500))
		must(b, err)
		info, err := os.Stat(path)
		must(b, err)
		size += int(info.Size())
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		c, err := Read(dir)
		must(b, err)
		if tracks := history.Tracks(c.Nights); len(tracks) != 500 || len(c.Nights) != 365 {
			b.Fatalf("%d tracks of %d nights", len(tracks), len(c.Nights))
		}
	}
}

// Documents are kept by kind, once each, merged, and read around damage.
func TestDocuments(t *testing.T) {
	from, into := t.TempDir(), t.TempDir()
	for _, text := range []string{"one", "two", "one"} {
		_, err := Keep(from, "run", []byte(text))
		must(t, err)
	}
	path, err := Keep(from, "bisection", []byte("three"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(from, documents, "notes.txt"), nil, 0o644))
	m, err := Merge(into, []string{from, from})
	must(t, err)
	if m.Copied != 3 || m.Had != 3 || len(m.Skipped) != 2 {
		t.Errorf("%+v", m)
	}
	list, skipped, err := Documents(into)
	if must(t, err); len(list) != 3 || len(skipped) != 0 || list[0].Kind != "bisection" || list[1].Kind != "run" ||
		string(list[0].Text) != "three" || filepath.Base(list[0].Path) != filepath.Base(path) {
		t.Errorf("%q, %v", list, skipped)
	}
	must(t, os.Truncate(path, 2))
	list, skipped, err = Documents(from)
	if must(t, err); len(list) != 2 || len(Damaged(skipped)) != 1 || len(skipped) != 2 {
		t.Errorf("%q, %v", list, skipped)
	}
	if c, err := Read(into); err != nil || len(c.Nights)+len(c.Skipped) != 0 {
		t.Errorf("documents are taken for nights: %+v, %v", c, err)
	}
	if _, err := Keep(into, "../x", nil); err == nil {
		t.Error("a kind that is a path is taken")
	}
	if list, _, err := Documents(t.TempDir()); err != nil || list != nil {
		t.Errorf("of a store without documents: %q, %v", list, err)
	}
}
