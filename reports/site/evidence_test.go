package site

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

// The page of a failure has rule, requirement, ladder and command, that of a change its runs beside each other and the
// log of a search; where the runs are gone both say so, and how to make them again.
func TestEvidence(t *testing.T) {
	s := full(40, 40)
	files := written(t, s)
	find := func(kind, text string) string {
		for name, page := range files {
			if strings.HasPrefix(name, kind) && strings.Contains(page, text) {
				return page
			}
		}
		t.Errorf("no page %s has %q", kind, text)
		return ""
	}
	failure := find("failure-", "the night before: PASS")
	for _, want := range []string{"FAIL GBN-NAK-001", "A paraphrase of RC-NAK-002", "<mark>", "&lt;== RC-NAK-002",
		"gauntlet explain RC-NAK-002",
		"gauntlet run --impl gbn", `href="./change-`, "qp A start=0"} {
		if !strings.Contains(failure, want) {
			t.Errorf("the page of a failure lacks %q", want)
		}
	}
	change := find("change-", "new failure")
	for _, want := range []string{`class="aligned"`, "go-back-N, by timeouts alone", "gbn: send less",
		"1 property is the same", `href="./failure-`, "as before", "no result: build: commit c0ffee", "spec.txt",
		"--store nights --build &#39;go build -o $GAUNTLET_PROGRAM ./cmd/gauntlet&#39; --series",
		"-- matrix --impl impl00", `<td class="l"><a href="./runs/2026-02-08/report.html"`} {
		if !strings.Contains(change, want) {
			t.Errorf("the page of a change lacks %q", want)
		}
	}
	if strings.Contains(change, `<th scope="col">by</th>`) ||
		!strings.Contains(find("change-", "regressed"), `<th scope="col">by</th>`) {
		t.Error("verdicts have a column of what they changed by, or numbers have none")
	}
	find("device-", "over the nights")
	if page := find("device-", "NOT QUALIFIED"); strings.Index(page, "16.35.2000") > strings.Index(page, "16.36.1000") {
		t.Error("the newer firmware is on the left")
	}
	used := s.Uses()
	if len(used) != 2 {
		t.Fatalf("%d runs are used: %+v", len(used), used)
	}
	s = &Site{Version: s.Version, Store: s.Store, Nights: s.Nights, Evidence: s.Evidence}
	s.Open = nil
	for name, page := range written(t, s) {
		if strings.HasPrefix(name, "failure-") &&
			(!strings.Contains(page, "no longer kept") || !strings.Contains(page, "--impl impl00")) {
			t.Errorf("%s: a run that is gone, and how it is repeated", name)
		}
		if strings.HasPrefix(name, "change-") && !strings.Contains(page, "No two runs") {
			t.Errorf("%s: runs that are gone", name)
		}
	}
	s = &Site{Version: s.Version, Store: s.Store, Nights: s.Nights, Evidence: s.Evidence}
	for _, k := range used {
		s.Kept = append(s.Kept, *k)
	}
	for name, page := range written(t, s) {
		if strings.Contains(page, "by timeouts alone") != strings.Contains(files[name], "by timeouts alone") {
			t.Errorf("%s: other than when the folder was there", name)
		}
	}
}

// A folder that a later night wrote again is no evidence for an earlier one, nor is one of another Spec.
func TestEvidenceOfAnotherRun(t *testing.T) {
	s := full(40, 40)
	for i := range s.Nights {
		for k := range s.Nights[i].Points {
			s.Nights[i].Points[k].Run = "the same"
		}
	}
	r := newRuns(s)
	last, first := &s.Nights[len(s.Nights)-1], &s.Nights[0]
	if r.of(&history.Entry{Header: &first.Header, Point: &first.Points[0]}) != nil {
		t.Error("the first night shows the run of the last")
	}
	p := last.Points[0]
	if r.of(&history.Entry{Header: &last.Header, Point: &p}) == nil {
		t.Error("the last night does not show its run")
	}
	p.Spec = "bb"
	if r.of(&history.Entry{Header: &last.Header, Point: &p}) != nil {
		t.Error("a run of another Spec is shown")
	}
}

// A command that reads the Spec of a run leaves out its folder, which only the machine of the night has; where no run
// is kept the name of the series tells the command.
func TestRepeat(t *testing.T) {
	track := &history.Track{Series: history.Series{Name: "matrix irn random goodput", Bench: "sim"}}
	r := modeltest.Result()
	const folder = "/home/me/runs/1"
	for want, command := range map[string]string{
		"gauntlet run spec.txt --bench sim":                     "gauntlet run " + folder + "/spec.txt --bench sim",
		"gauntlet run --impl irn":                               "gauntlet run --impl irn",
		"gauntlet matrix --impl irn --links random --bench sim": "",
	} {
		r.Folder, r.Command = folder, command
		if got := repeat(track, &model.KeptRun{Result: r}); !slices.Equal(got, []string{want}) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Nights in real time differ by themselves: their numbers are called other only where enough nights say so. Numbers
// that repeat are other by any difference.
func TestDeviceOverNights(t *testing.T) {
	for _, c := range []struct {
		class         history.Class
		nights        int
		step          float64
		differ, alike int // rows
	}{
		{history.Noisy, 1, 1.2, 0, 20},
		{history.Noisy, 3, 1.2, 0, 20},
		{history.Noisy, 6, 1.2, 20, 0},
		{history.Noisy, 6, 1, 0, 20},
		{history.Exact, 1, 1.2, 20, 0},
	} {
		s, draw := &Site{}, rand.New(rand.NewPCG(3, 4))
		for i := range 2 * c.nights {
			h := history.Header{Night: fmt.Sprintf("2026-11-%02d", i+1), Host: "lab", Firmware: "1"}
			n, level := history.Night{Header: h}, 1e6
			if i >= c.nights {
				n.Firmware, level = "2", 1e6*c.step
			}
			for k := range 20 {
				name := fmt.Sprintf("matrix gbn l%d goodput", k)
				n.Points = append(n.Points, history.Point{Values: []float64{level * (1 + 0.01*draw.NormFloat64())},
					Series: history.Series{Name: name, Bench: "lab", Class: c.class}})
			}
			s.Nights = append(s.Nights, n)
		}
		p := s.known()
		v := newDevicePage(p, p.devices[0])
		if len(v.Figures.Differ) != c.differ || len(v.Figures.Same) != c.alike {
			t.Errorf("%+v: %d rows differ and %d do not", c, len(v.Figures.Differ), len(v.Figures.Same))
		}
	}
}

// A verdict that nights of one firmware alone have is not known to differ from one version to the next.
func TestFirmwareThatWasNotMeasured(t *testing.T) {
	track := &history.Track{Series: history.Series{Name: "run verdict", Bench: "netns", Class: history.Noisy}}
	h := &history.Header{Night: "2026-11-24", Host: "lab", Firmware: "1"}
	track.Entries = []history.Entry{{Header: h, Point: &history.Point{Word: "PASS"}}}
	v := &devicePage{}
	v.track(track, &device{host: "lab", firmware: []string{"1", "2"}})
	if len(v.Verdicts.Differ) != 0 || len(v.Verdicts.Same) != 1 {
		t.Errorf("%+v", v.Verdicts)
	}
}
