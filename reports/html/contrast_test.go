package html

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

func writeContrast(t *testing.T, m *model.Contrast) string {
	t.Helper()
	var b strings.Builder
	if err := Contrast(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestContrastShowsEverything(t *testing.T) {
	m := modeltest.Contrast()
	got := writeContrast(t, m)
	for _, want := range []string{"<title>FAIL · rxe beside gbn over 2 links", "6.1.0-56-amd64", m.Conditions,
		"44 Mb/s", "0.50", "25 ms", "RC-PSN-005",
		"100 (9×, 2 to 256)", "64 ms (3×, 60 ms to 68 ms)", "64 (16×)", "256", m.Command,
		"10 ms, loss 0.01: from 11 Mb/s (rxe) to 22 Mb/s (gbn)"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	if n := strings.Count(got, `<path class="k-bar`); n != 8 {
		t.Errorf("%d bars, want one for each run: 8", n)
	}
	for _, re := range []*regexp.Regexp{loads, handler, regexp.MustCompile(`<script`)} {
		if found := re.FindString(got); found != "" {
			t.Errorf("found %q", found)
		}
	}
}

func TestContrastOdd(t *testing.T) {
	for name, m := range map[string]*model.Contrast{"nothing": {},
		"an empty row": {Rows: make([]model.ContrastRow, 1)}} {
		if got := writeContrast(t, m); strings.Contains(got, "NaN") ||
			!strings.HasSuffix(strings.TrimSpace(got), "</html>") {
			t.Errorf("%s: the page is broken\n%s", name, got)
		}
	}
}

func TestContrastEscapesEverything(t *testing.T) {
	m := modeltest.Contrast()
	nasty := `</title></style><script>alert(1)</script><img src=x onerror=alert(2)>"'`
	m.Kernel, m.Conditions, m.Impls[1], m.Command, m.Version, m.Commit = nasty, nasty, nasty, nasty, nasty, nasty
	m.Rows[0].Sides[0].Stream.Reason, m.Rows[1].Sides[0].Single.Broken[0] = nasty, nasty
	if got := writeContrast(t, m); strings.Contains(got, "<script") || strings.Contains(got, "<img") {
		t.Error("markup from outside is in the page")
	}
}
