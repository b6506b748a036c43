package html

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/perf/atlas"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

func TestAtlasShowsEverything(t *testing.T) {
	m := modeltest.Atlas()
	m.Command = "<script>alert(1)</script>"
	var b strings.Builder
	if err := Atlas(&b, m); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{"1 Gb/s, losses one by one", "bursts of 8 packets on average", "98 % of the line",
		"1.40 × fasr", "1.40 (1.30–1.50) × fasr", "2 tied, 9.0 × gbn", "all tied", "not run", "gbn: 1", "irn: 2",
		"1 of 4 links have no answer", `role="img"`, "&lt;script&gt;"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	for _, re := range []*regexp.Regexp{loads, handler, regexp.MustCompile(`<script`)} {
		if found := re.FindString(got); found != "" {
			t.Errorf("found %q", found)
		}
	}
}

// The bar of a cell is divided among the transports that tie.
func TestTiesHaveAllColours(t *testing.T) {
	drawing, _, _ := drawAtlas(modeltest.Atlas())
	// the legend has one of each
	for class, want := range map[string]int{`class="f0" `: 2, `class="f1" `: 4, `class="f2" `: 3, `tint" `: 3,
		`class="blank" `: 1} {
		if n := strings.Count(string(drawing), class); n != want {
			t.Errorf("%d of %s, want %d", n, class, want)
		}
	}
}

// A drawing in a file of its own is XML without a need for a style sheet: each class has a rule, and no rule uses a
// variable.
func TestExportStandsAlone(t *testing.T) {
	var b strings.Builder
	if err := AtlasSVG(&b, modeltest.Atlas()); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	d := xml.NewDecoder(strings.NewReader(got))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(got, "var(") || !strings.HasPrefix(got,
		`<svg xmlns="http://www.w3.org/2000/svg" width="992" height=`) {
		t.Errorf("%.600s", got)
	}
	style := exportStyle()
	for _, class := range regexp.MustCompile(`class="([^"]+)"`).FindAllStringSubmatch(got, -1) {
		for _, name := range strings.Fields(class[1]) {
			// the rule for all text is enough for these
			if name != "atlas" && name != "tick" && !strings.Contains(style, "svg ."+name+" ") {
				t.Errorf("class %s has no rule", name)
			}
		}
	}
}

func TestAtlasOdd(t *testing.T) {
	for name, m := range map[string]*atlas.Map{"nothing": {}, "no entries": {Transports: []string{"a"},
		Cells: []atlas.Cell{{Trouble: "x"}}}} {
		var b strings.Builder
		if err := Atlas(&b, m); err != nil || strings.Contains(b.String(), "NaN") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
