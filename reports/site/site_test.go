package site

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
	"github.com/rdma-gauntlet/gauntlet/reports/passport"
)

// year is a store of n series over some nights: exact and noisy numbers and verdicts, a step, a new kernel, gaps,
// alarms and failures.
func year(n, nights int) (list []history.Night) {
	draw := rand.New(rand.NewPCG(1, 2))
	day := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	for i := range nights {
		at := day.AddDate(0, 0, i)
		h := history.Header{Night: at.Format(time.DateOnly), Started: at.Format(time.RFC3339),
			Commit: fmt.Sprintf("%040x", 7000+i/3), Host: "lab3", Kernel: "6.12"}
		if i >= nights/2 {
			h.Kernel = "6.18"
		}
		night := history.Night{Header: h}
		if i == nights-1 {
			night.Commit = strings.Repeat("b", 40)
		}
		for k := range n {
			p := history.Point{Spec: "aa", Run: "runs/" + h.Night, Series: history.Series{Bench: "sim",
				Class: history.Exact, Unit: "bit/s", Better: history.Up}}
			p.Name = fmt.Sprintf("matrix impl%02d link%d %s", k/20, k/4%5, []string{"verdict", "goodput",
				"FCT p99", "NAKs"}[k%4])
			step := 1.0
			if i > nights*3/4 && k < 40 || i == nights-1 && k < 12 {
				step = 0.9
			}
			switch k % 4 {
			case 0:
				if p.Word = "PASS"; i == nights-1 && k < 8 {
					p.Word = "FAIL GBN-NAK-001"
				}
			case 1:
				p.Class, p.Bench = history.Noisy, "netns"
				p.Values = []float64{9e7 * step * (1 + 0.01*draw.NormFloat64())}
			default:
				p.Unit, p.Better = "ns", history.Down
				p.Values = []float64{1e6 * float64(k+1) / step}
			}
			if draw.IntN(100) == 0 || i == nights-1 && k == 17 {
				p.Values, p.Word, p.Status = nil, "", "INVALID"
			}
			night.Points = append(night.Points, p)
		}
		if i == nights*3/4+2 {
			night.Alarms = []history.Alarm{{Series: "matrix impl00 link0 goodput", Host: "lab3", Since: list[i-1].Night,
				Old: list[0].Commit, New: h.Commit, Relative: -0.1, P: 1e-6}}
		}
		list = append(list, night)
	}
	return list
}

// written are the files of a site by name.
func written(t testing.TB, s *Site) map[string]string {
	t.Helper()
	pages, err := s.Pages()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, p := range pages {
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		if out[p.Name] != "" {
			t.Errorf("%s: written twice", p.Name)
		}
		out[p.Name] = b.String()
	}
	return out
}

// Of a year of 500 series, with the build tag sweep, and of fewer otherwise, no page is over 1 MB, every link between
// pages leads to one, and the bytes are the same again.
func TestYear(t *testing.T) {
	n := 60
	if everything {
		n = 500
	}
	s := &Site{Store: "nights", Nights: year(n, 365)}
	files := written(t, s)
	for name, page := range files {
		if len(page) > 1e6 {
			t.Errorf("%s: %d bytes", name, len(page))
		}
		for _, part := range strings.Split(page, `href="./`)[1:] {
			if to, _, _ := strings.Cut(part, `"`); files[to] == "" && !strings.HasPrefix(to, "runs/") {
				t.Errorf("%s: no page %q", name, to)
			}
		}
	}
	index := files["index.html"]
	for _, want := range []string{"FAIL GBN-NAK-001", "<strong>new</strong>", "lab3: INVALID", "A/A rate",
		`href="./change-`} {
		if !strings.Contains(index, want) {
			t.Errorf("the index lacks %q", want)
		}
	}
	for name, page := range written(t, &Site{Store: s.Store, Nights: s.Nights}) {
		if files[name] != page {
			t.Errorf("%s: other bytes", name)
		}
	}
}

// BenchmarkYear writes a year of 500 series.
func BenchmarkYear(b *testing.B) {
	nights := year(500, 365)
	for b.Loop() {
		written(b, &Site{Store: "nights", Nights: nights})
	}
}

// skeleton is the elements and attributes of a page in order.
func skeleton(t *testing.T, page string) (names []string) {
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		kind := z.Next()
		if kind == html.ErrorToken {
			return names
		}
		if kind == html.TextToken {
			continue
		}
		e := z.Token()
		names = append(names, kind.String()+e.Data)
		for _, a := range e.Attr {
			names = append(names, e.Data+" "+a.Key)
			if a.Key == "href" && a.Val != "index.html" && !strings.HasPrefix(a.Val, "change-") &&
				!strings.HasPrefix(a.Val, "./") && !strings.HasPrefix(a.Val, "https://example.com/") {
				t.Errorf("%s leads to %.60q", e.Data, a.Val)
			}
		}
	}
}

// evidence has a text in every field.
func evidence(text string) Evidence {
	e := Evidence{Bisections: []model.Bisection{*modeltest.Bisection()},
		Passports: []*passport.Passport{modeltest.Passport(), modeltest.Passport()}}
	e.Open = func(string) *model.KeptRun {
		sheets := []*datasheet.Sheet{{Rows: []datasheet.Row{{Name: "a", Value: "b", Seen: 1}}}}
		k := modeltest.Fill(&model.KeptRun{Result: modeltest.Result(), Sheets: sheets}, text, true)
		k.Result.SpecHash = text
		return k
	}
	modeltest.Fill(&e.Bisections[0], text, false)
	for i, p := range e.Passports {
		modeltest.Fill(p, text, true)
		p.Subject.Kind, p.Made = passport.Device, fmt.Sprintf("2026-01-0%dT00:00:00Z", i+1)
	}
	return e
}

// Whatever a store has in any field, the pages have the elements and attributes that they have for other text.
func TestHostileText(t *testing.T) {
	pages := func(text string) map[string]string {
		s := &Site{Nights: year(8, 3), Tonight: modeltest.Night()}
		nights := s.Nights
		for i := range nights {
			n := modeltest.Fill(&nights[i], text, false)
			n.Night, n.Commit = fmt.Sprintf("2026-01-0%d", i+1), strings.Repeat(fmt.Sprint(i), 40)
			for k := range n.Points {
				n.Points[k].Name += fmt.Sprint(" ", k) // apart, and of a class that is known
				n.Points[k].Class = history.Exact
			}
		}
		nights[1].Points[0].Word, nights[2].Points[0].Word = "PASS", "FAIL "+text
		s.Evidence = evidence(text)
		s.Bisections[0].Good, s.Bisections[0].Bad = nights[1].Commit, nights[2].Commit
		s.Bisections[0].Series = names(nights[2].Points)
		s.Tonight = modeltest.Fill(s.Tonight, text, false)
		s.Tonight.Header.Night = "2026-01-03"
		return written(t, s)
	}
	files := pages(modeltest.Benign)
	for _, kind := range []string{"change", "failure", "device"} {
		if !slices.ContainsFunc(
			slices.Collect(maps.Keys(files)),
			func(n string) bool { return strings.HasPrefix(n, kind) },
		) {
			t.Errorf("there is no page of a %s", kind)
		}
	}
	shape := func(files map[string]string) (all [][]string) {
		for _, page := range files {
			if quote.Text(page) != page {
				t.Error("what does not print is in a page")
			}
			all = append(all, skeleton(t, page))
		}
		slices.SortFunc(all, func(a, b []string) int { return slices.Compare(a, b) })
		return all
	}
	want := shape(files)
	for _, text := range modeltest.Hostile() {
		if got := shape(pages(text)); !slices.EqualFunc(got, want, slices.Equal[[]string]) {
			t.Errorf("%.60q: other elements", text)
		}
	}
}

// Tonight names a command without a result, and the night that ran last where a clock has put it before the newest.
func TestWhatTonightTells(t *testing.T) {
	s := &Site{Store: "nights", Nights: year(4, 3), Tonight: &model.Night{Status: model.Incomplete,
		Steps: []model.NightStep{{Command: "perf", Trouble: "nothing was measured"}}, Notes: []string{"a clock went back"}}}
	s.Tonight.Header = s.Nights[2].Header
	page := written(t, s)["index.html"]
	for _, want := range []string{"<strong>INCOMPLETE</strong>", "; 1 command had no result</span>",
		"<code>perf</code>: no result: nothing was measured"} {
		if !strings.Contains(page, want) {
			t.Errorf("nothing says %q", want)
		}
	}
	s.past, s.Tonight.Header.Night = nil, "2025-12-01"
	page = written(t, s)["index.html"]
	for _, want := range []string{"<strong>INCOMPLETE</strong>", "a clock went back",
		"2026-01-03 is the newest night of the store, and 2025-12-01 ran last, INCOMPLETE: "} {
		if !strings.Contains(page, want) {
			t.Errorf("nothing says %q", want)
		}
	}
}

// A sparkline has a piece for each segment: values of two Specs are not compared.
func TestSparkOfSegments(t *testing.T) {
	var list []history.Entry
	for i, spec := range []string{"aa", "aa", "bb", "bb"} {
		h := &history.Header{Night: fmt.Sprintf("2026-01-0%d", 1+i)}
		list = append(list, history.Entry{Header: h, Point: &history.Point{Spec: spec, Values: []float64{float64(i)}}})
	}
	if got := spark(list); strings.Count(got, "M") != 2 || strings.Count(got, "L") != 2 {
		t.Error(got)
	}
}
