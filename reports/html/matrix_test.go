package html

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

func writeMatrix(t testing.TB, m *model.Matrix) string {
	t.Helper()
	var b strings.Builder
	if err := Matrix(&b, m, "runs/example"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMatrixShowsEverything(t *testing.T) {
	m := modeltest.Matrix()
	got := writeMatrix(t, m)
	for _, want := range []string{"<title>FAIL · 2 implementations over 2 links on netns", "91.8 Mb/s", "39.0 %",
		"144 ms", "attempt 3", "RC-TMO-001",
		"interrupted", "loss gemodel p=0.1% r=20%", "warning: queue=100", m.Command, "acks-early", "1 not caught",
		`href="./gbn/burst/report.html"`,
		`role="img"`, "clean: from 88 Mb/s (fasr+gbn) to 91.8 Mb/s (gbn)", "54.2 Mb/s FAIL"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	if n, want := strings.Count(got, `<path class="k-bar`), 3*len(m.Cells); n != want {
		t.Errorf("%d bars, want %d", n, want)
	}
	if n := strings.Count(got, `<svg class="bars"`); n != 3 {
		t.Errorf("%d drawings, want 3", n)
	}
	for _, re := range []*regexp.Regexp{loads, handler, regexp.MustCompile(`<script`)} {
		if found := re.FindString(got); found != "" {
			t.Errorf("found %q", found)
		}
	}
}

// The table of peers has a row for each requester, and a reason in every cell that did not pass.
func TestPeers(t *testing.T) {
	got := writeMatrix(t, modeltest.Peers())
	for _, want := range []string{"3 implementations, each with each, over 1 link", `<th scope="row">exec:./mine</th>`,
		"<code>RC-ACK-002</code>",
		"recovery irn of the requester meets gbn of the responder", "contract: ./mine: it said nothing",
		`href="./gbn&#43;gbn/clean/report.html"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	if strings.Contains(got, `id="pictures"`) || strings.Count(got, `<section id="peers">`) != 1 {
		t.Error("pictures of pairs, or no table")
	}
}

// The length of a bar is proportional to its value.
func TestBarsAreToScale(t *testing.T) {
	m := modeltest.Matrix()
	m.Cells[1].GoodputBps = m.Cells[0].GoodputBps / 2
	svg := string(newMatrixView(m, ".").Figures[0].Drawing)
	found := regexp.MustCompile(`<path class="k-bar(?: bad)?" d="M[0-9.]+ [0-9.]+h([0-9.]+)v`).
		FindAllStringSubmatch(svg, -1)
	if len(found) != len(m.Cells) || found[0][1] != "400.0" || found[2][1] != "200.0" || found[3][1] != "0.0" {
		t.Errorf("lengths of bars: %v", found)
	}
}

func TestMatrixOdd(t *testing.T) {
	for name, m := range map[string]*model.Matrix{
		"nothing":  {},
		"no cells": {Impls: []string{"a"}, Links: []model.MatrixLink{{Name: "x"}}},
		"no links": {Impls: []string{"a"}},
	} {
		if got := writeMatrix(t, m); strings.Contains(got, "NaN") ||
			!strings.HasSuffix(strings.TrimSpace(got), "</html>") {
			t.Errorf("%s: the page is broken\n%s", name, got)
		}
	}
}

func hostileMatrix() *model.Matrix {
	m := modeltest.Matrix()
	nasty := `</title></style><script>alert(1)</script><img src=x onerror=alert(2)>"'`
	m.Command, m.Bench, m.Version, m.Folder, m.Impls[0] = nasty, nasty, nasty, nasty, nasty
	m.Links[1] = model.MatrixLink{Name: nasty, Title: nasty, Text: nasty}
	m.Cells[0].Impl, m.Cells[0].Folder, m.Cells[1].Link, m.Cells[1].Reason, m.Cells[1].Status = nasty,
		`javascript:alert(1)//`, nasty, nasty, nasty
	m.Kills[0].Breaks, m.Kills[1].Reason = nasty, nasty
	return m
}

func TestMatrixEscapesEverything(t *testing.T) {
	got, plain := writeMatrix(t, hostileMatrix()), writeMatrix(t, modeltest.Matrix())
	for _, tag := range []string{"<script", "<style", "</style", "<title", "<img", "onerror=alert(2)>",
		`href="javascript`} {
		if g, w := strings.Count(got, tag), strings.Count(plain, tag); tag != "<title" && g != w || g < w {
			t.Errorf("%d of %q, want %d", g, tag, w)
		}
	}
}
