package html

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

func TestPerfShowsEverything(t *testing.T) {
	m := modeltest.Perf()
	m.Claims[1].Reason = "<script>alert(1)</script>"
	var b strings.Builder
	if err := Perf(&b, m); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{"<title>ERROR · claims", `id="PT-XX-01"`, "1.25 ±0.01", "at", "1.46 to 1.58",
		"not reproduced", "no account", "of an FPGA",
		"6 on netns", `class="l">gbn, seed 1: INVALID: late</td><td>–</td>`,
		"-36.84 ±0.5 %", "s-fail", "s-inconclusive", "s-reported", m.Command, "&lt;script&gt;"} {
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
