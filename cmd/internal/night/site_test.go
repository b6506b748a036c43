package night

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/units"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/history/store"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

// leave writes the run folder of a cell of this status, and with so many packets, where --out says.
func leave(status, link string, packets int64) model.Cell {
	out := os.Args[slices.Index(os.Args, "--out")+1]
	r := modeltest.Result()
	r.Folder, r.SpecHash = filepath.Join(out, "gbn", link), link
	r.Summary.Packets = packets
	text, err := json.Marshal(r)
	if err == nil {
		err = os.MkdirAll(r.Folder, 0o755)
	}
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(r.Folder, "result.json"), text, 0o644),
			os.WriteFile(filepath.Join(r.Folder, "report.html"), nil, 0o644))
	}
	if err != nil {
		panic(err)
	}
	if slices.Contains(os.Args, "--units") {
		r.Folder = "" // results of runs that are kept have none
	}
	c := model.Cell{Impl: "gbn", Link: link, Status: status, SpecHash: r.SpecHash, Folder: r.Folder, Summary: r.Summary}
	if status == "FAIL" {
		c.Broken = []string{"RC-NAK-002"}
	}
	return c
}

// nightly goes through a night of a plan that asks for pages, and returns them by the beginning of their names. With
// units its results are kept.
func nightly(t *testing.T, dir, day, status string, dirs ...string) (*model.Night, map[string]string) {
	t.Helper()
	t.Setenv(speed, status)
	plan := filepath.Join(dir, "n.plan")
	must(t, os.WriteFile(plan, []byte("night 1\nhost h\nsite public\nmatrix --bench sim\n"), 0o644))
	p, err := ReadPlan(plan)
	must(t, err)
	o := Options{Plan: p, Path: plan, Folder: filepath.Join(dir, "out", day), Night: day,
		Commit: strings.Repeat(day[9:], 40), Units: dirs}
	if len(dirs) > 0 {
		o.Kept, err = units.OpenFolder(dirs...)
		must(t, err)
	}
	s, err := New(t.Context(), o)
	must(t, err)
	must(t, s.Open())
	n, err := s.Run(t.Context(), func(float64, string) {})
	must(t, err)
	must(t, s.Site(t.Context()))
	files, err := os.ReadDir(filepath.Join(dir, "public"))
	must(t, err)
	pages := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, "public", f.Name()))
		must(t, err)
		kind, _, _ := strings.Cut(strings.TrimSuffix(f.Name(), ".html"), "-")
		pages[kind] += string(text)
	}
	return n, pages
}

// A night writes the pages with itself in them: a failure with its ladder, which stay when the folders of the runs are
// gone, and also when the night was INVALID, or had no result at all.
func TestSiteOfANight(t *testing.T) {
	dir := t.TempDir()
	says := func(page string, words ...string) {
		t.Helper()
		for _, w := range words {
			if !strings.Contains(page, w) {
				t.Errorf("no %q in %.3000s", w, page)
			}
		}
	}
	if n, pages := nightly(t, dir, "2026-11-21", "PASS"); n.Status != "PASS" || pages["failure"] != "" {
		t.Errorf("%+v", n)
	}
	n, pages := nightly(t, dir, "2026-11-22", "FAIL")
	if n.Status != "FAIL" {
		t.Errorf("%+v", n)
	}
	report := `href="./../out/2026-11-22/01-matrix/matrix/gbn/clean/report.html"` // as the page lies, not the machine
	says(pages["index"], "<strong>new</strong>", `href="./failure-`, report)
	says(
		pages["failure"],
		"A gap is NAKed once",
		"A paraphrase of RC-NAK-002",
		`<pre class="ladder"`,
		"gauntlet run --impl gbn",
		"gauntlet explain RC-NAK-002",
	)
	says(pages["change"], "side by side", "connection 0, requests of A")
	kept, _, err := store.Documents(filepath.Join(dir, "nights"))
	if must(t, err); len(kept) != 2 {
		t.Errorf("%d runs are kept, want those before and behind the failure", len(kept))
	}
	must(t, os.RemoveAll(filepath.Join(dir, "out")))
	n, pages = nightly(t, dir, "2026-11-23", "INVALID")
	if len(n.Changes.Gaps) == 0 {
		t.Errorf("%+v", n.Changes)
	}
	says(pages["index"], "h: INVALID", "Nothing changed.")
	says(pages["failure"], `<pre class="ladder"`)
	if strings.Contains(pages["index"], "report.html") || strings.Contains(pages["failure"], "report.html") {
		t.Error("a page links to a report that is gone")
	}
	n, pages = nightly(t, dir, "2026-11-24", "none")
	if n.Status != model.Incomplete || n.File != "" {
		t.Errorf("%+v", n)
	}
	says(pages["index"], "INCOMPLETE", "the night 2026-11-24 has no result", "no result: ", "no link")
	if _, pages = nightly(t, t.TempDir(), "2026-11-24", "none"); pages["index"] == "" {
		t.Error("a night without a result, of an empty store, has no pages")
	}
}

// Pages of before that are no longer of the site go, and what is not a page stays.
func TestSiteRemovesOldPages(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"series-0123456789ab.html", "mine.html", "CNAME"} {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	_, _, err := Site(t.Context(), dir, filepath.Join(dir, "none"), nil, nil)
	must(t, err)
	for name, want := range map[string]bool{"series-0123456789ab.html": false, "mine.html": true, "CNAME": true,
		"index.html": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", name, err == nil, want)
		}
	}
}

// A page that cannot be written leaves it and the index as they were, and is one short line, whatever else there is to
// write.
func TestSiteThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	list := []history.Night{{Header: history.Header{Night: "2026-11-22", Started: "2026-11-22T00:00:00Z", Host: "h"}}}
	for i := range 9 {
		p := history.Point{Series: history.Series{Name: fmt.Sprint("run ", i), Bench: "sim", Class: history.Exact}}
		p.Values = []float64{1}
		list[0].Points = append(list[0].Points, p)
	}
	_, _, err := Site(t.Context(), dir, dir, list, nil)
	must(t, err)
	index := filepath.Join(dir, "index.html")
	before, err := os.ReadFile(index)
	must(t, err)
	blocked := filepath.Join(dir, "matrix.html")
	must(t, os.Remove(blocked))
	must(t, os.Mkdir(blocked, 0o755))
	list[0].Night, list[0].Started = "2026-11-23", "2026-11-23T00:00:00Z"
	_, _, err = Site(t.Context(), dir, dir, list, nil)
	after, _ := os.ReadFile(index)
	if fault.Of(err) != fault.Harness || len(fault.OneLine(err)) > 400 || !strings.Contains(err.Error(), blocked) ||
		string(after) != string(before) {
		t.Errorf("%v; the index was changed: %v", err, string(after) != string(before))
	}
}

// A failure of a night whose results were kept is played again for its page, on the night on which it began. The page
// keeps its name and its ladder while the failure lasts, also where the first night of the store has it.
func TestSiteOfKeptResults(t *testing.T) {
	for _, nights := range []string{"PASS FAIL FAIL", "FAIL FAIL FAIL"} {
		dir, began := t.TempDir(), ""
		for i, status := range strings.Fields(nights) {
			day := fmt.Sprintf("2026-11-2%d", i+1)
			_, pages := nightly(t, dir, day, status, filepath.Join(dir, day))
			texts, _, err := store.Documents(filepath.Join(dir, "nights"))
			must(t, err)
			names, err := filepath.Glob(filepath.Join(dir, "public", "failure-*"))
			must(t, err)
			if status == "PASS" {
				if len(texts)+len(names) != 0 {
					t.Errorf("%s, %s: %d runs are kept, and there are %v", nights, day, len(texts), names)
				}
				continue
			}
			if began == "" && len(names) > 0 {
				began = names[0]
			}
			if len(texts) != 1 || !slices.Equal(names, []string{began}) {
				t.Errorf("%s, %s: %d runs are kept, want 1; %v, want %q", nights, day, len(texts), names, began)
			}
			if !strings.Contains(pages["failure"], `<pre class="ladder"`) ||
				strings.Contains(pages["failure"], "since the first night") != (nights[:4] == "FAIL") {
				t.Errorf("%s, %s: %.2000s", nights, day, pages["failure"])
			}
		}
	}
}

// Documents that are damaged or of another format are named by their paths, and those of other kinds passed over.
func TestDocumentsThatAreSkipped(t *testing.T) {
	dir := t.TempDir()
	want := map[string]string{}
	for _, d := range []struct{ kind, text, why string }{
		{"run", `{"format":1}`, ""},
		{"run", `{"format":2}`, "format 2, and this program reads 1: a newer one wrote it"},
		{"bisection", `{"format":3,"steps":{}}`, "format 3, and this program reads 1: a newer one wrote it"},
		{"bisection", `{`, "unexpected end of JSON input"},
		{"weather", `rain`, ""},
	} {
		path, err := store.Keep(dir, d.kind, []byte(d.text))
		if must(t, err); d.why != "" {
			want[path] = d.why
		}
	}
	e, skipped, err := Documents(t.Context(), dir)
	must(t, err)
	got := map[string]string{}
	for _, s := range skipped {
		got[s.File] = s.Why
	}
	if !maps.Equal(got, want) || len(e.Kept) != 1 || len(e.Bisections) != 0 {
		t.Errorf("%v, want %v; %+v", got, want, e)
	}
}
