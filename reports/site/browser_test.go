package site

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/reports/html/htmltest"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
	"github.com/rdma-gauntlet/gauntlet/reports/passport"
)

// full is a store of series over days with everything that a site can show: runs behind changes and failures, a
// bisection, passports of two versions of firmware, and nights that name theirs.
func full(series, days int) *Site {
	nights := year(series, days)
	for i := range nights {
		nights[i].Firmware = []string{"16.35.2000", "16.36.1000"}[i*2/len(nights)]
	}
	s := &Site{Version: "0.1.0", Store: "nights", Nights: nights}
	last, before := nights[len(nights)-1], nights[len(nights)-2]
	s.Open = func(run string) *model.KeptRun {
		r := modeltest.Result()
		r.SpecHash, r.Spec = "aa", strings.Repeat(
			"qp A start=0 mtu=1024 timeout=14 rto=60ms retry=7 rnr=7 min-rnr=12 qd=128 cqmod=0\n",
			3,
		)
		rows := []datasheet.Row{
			{Name: "recovery", Value: "go-back-N, told by NAKs", Seen: 12},
			{Name: "NAK latency", Value: "about 8 µs", Seen: 12},
		}
		if run == "runs/"+last.Night {
			r.Packets, rows[0].Value = r.Packets+9, "go-back-N, by timeouts alone"
		}
		return &model.KeptRun{Result: r, Sheets: []*datasheet.Sheet{{Device: "gbn", Rows: rows}}}
	}
	s.Bisections = []model.Bisection{
		{
			Format:  1,
			Command: "matrix --impl impl00 --links 'link0,link1'",
			Build:   "go build -o $GAUNTLET_PROGRAM ./cmd/gauntlet",
			Good:    before.Commit,
			Bad:     last.Commit,
			First:   last.Commit,
			Last:    last.Commit,
			Title:   "gbn: send less",
			Commits: 92,
			Runs:    8,
			Series:  names(last.Points),
			Steps: []model.BisectionStep{
				{Commit: before.Commit, Value: "PASS"},
				{Commit: last.Commit, Value: "FAIL GBN-NAK-001"},
				{Commit: "c0ffee0c0ffee0", Trouble: "build: commit c0ffee0c0ffe: exit status 2: an odd name: frobnicate"},
			},
		},
	}
	older, newer := modeltest.Passport(), modeltest.Passport()
	newer.Subject.Firmware, newer.Made = "16.36.1000", "2026-12-24T10:00:00Z"
	newer.Rules = slices.Clone(newer.Rules)
	newer.Rules[0].Status = "FAIL"
	s.Passports = []*passport.Passport{newer, older}
	return s
}

// names are the series of points.
func names(list []history.Point) (all []string) {
	for i := range list {
		all = append(all, list[i].Name)
	}
	return all
}

// painted is when something was to be seen, in milliseconds from the beginning.
const painted = `new Promise(done => { const look = () => {
  const e = performance.getEntriesByName("first-contentful-paint")[0];
  if (e) done(e.startTime); else setTimeout(look, 10); }; look(); })`

// chosen are pages of every kind, the first of each.
func chosen(pages []Page) (list []Page) {
	seen := map[string]bool{}
	for _, p := range pages {
		if kind, _, _ := strings.Cut(p.Name, "-"); !seen[kind] && strings.HasSuffix(p.Name, ".html") {
			seen[kind] = true
			list = append(list, p)
		}
	}
	return list
}

// views are a desk by day and a phone at night; what is too wide does not depend on colours, nor what is faint on the
// width. With the build tag sweep the other two are looked at as well.
func views() []htmltest.View {
	list := []htmltest.View{{Width: 1280, Height: 900}, {Width: 400, Height: 800, Dark: true}}
	if everything {
		list = append(list, htmltest.View{Width: 1280, Height: 900, Dark: true}, htmltest.View{Width: 400, Height: 800})
	}
	return list
}

// A year of 500 series in a browser: every kind of page, on a desk and on a phone, light and dark. With
// GAUNTLET_SCREENSHOTS the pictures go into that folder.
func TestBrowser(t *testing.T) {
	b := htmltest.Start(t)
	pages, err := full(500, 365).Pages()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	list := chosen(pages)
	if len(list) != 6 {
		t.Errorf("%d kinds of pages, want 6", len(list))
	}
	for _, p := range list {
		path := filepath.Join(dir, p.Name)
		if n := save(t, path, p); n > 1e6 {
			t.Errorf("%s has %d bytes", p.Name, n)
		}
		for _, v := range views() {
			t.Run(fmt.Sprintf("%.6s/%d/%v", p.Name, v.Width, v.Dark), func(t *testing.T) { look(t, b, path, v) })
		}
	}
}

// save writes a page, and returns its size.
func save(t *testing.T, path string, p Page) int64 {
	t.Helper()
	f, err := os.Create(path)
	if err == nil {
		err = p.Write(f)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// look opens a page, and says what is wrong with it. The time is that of the processor, which others on the machine do
// not change much.
func look(t *testing.T, b *htmltest.Browser, path string, v htmltest.View) {
	p := b.Open("file://"+path, v)
	defer p.Close()
	var wall float64
	p.Eval(painted, &wall)
	if m := p.Metrics(); m["TaskDuration"] > 1 {
		t.Errorf("%.2f s of a processor until the page was there", m["TaskDuration"])
	} else {
		t.Logf("first paint after %.0f ms, %.2f s of a processor, %.0f nodes", wall, m["TaskDuration"], m["Nodes"])
	}
	wrong, weak := p.Faults()
	if len(wrong)+len(weak)+len(p.Console) > 0 {
		t.Errorf("wrong: %q, faint: %q, console: %q", wrong, weak, p.Console)
	}
	if shots := os.Getenv("GAUNTLET_SCREENSHOTS"); shots != "" {
		name := fmt.Sprintf("%.6s-%d-%v.png", filepath.Base(path), v.Width, v.Dark)
		if err := os.WriteFile(filepath.Join(shots, name), p.Screenshot(v.Width, 2400), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// A page with a fault of each kind is not found to be well.
func TestBrowserFindsFaults(t *testing.T) {
	b := htmltest.Start(t)
	path := filepath.Join(t.TempDir(), "bad.html")
	bad := `<html><body><main><h1>a</h1><h3 id=x></h3><div id=x style="width:2000px">wide</div><svg></svg>
<table><tr><th>h</table><table><tr><td>d</table><a href="y"></a><p style="color:#999;background:#fff">faint</p>
<div class="scroll" style="width:9px;overflow:auto"><p style="width:99px">.</p></div>
<script>missing()</script></main></body></html>`
	if err := os.WriteFile(path, []byte(bad), 0o644); err != nil {
		t.Fatal(err)
	}
	p := b.Open("file://"+path, htmltest.View{Width: 400, Height: 800})
	wrong, weak := p.Faults()
	said := strings.Join(wrong, "\n")
	for _, want := range []string{"wider than the window", "no language", "no title", "skips a level", "an empty heading",
		"a drawing without",
		"two elements of", "without scope", "without headers", "a link without", "keys do not"} {
		if !strings.Contains(said, want) {
			t.Errorf("nothing says %q in %s", want, said)
		}
	}
	if len(weak) != 1 || !strings.Contains(strings.Join(p.Console, ""), "missing is not defined") {
		t.Errorf("faint: %q, console: %q", weak, p.Console)
	}
}
