package terminal

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

func TestAtlas(t *testing.T) {
	m := modeltest.Atlas()
	m.Cells[3].Trouble = "broken\x1b[31m"
	var b strings.Builder
	if err := Atlas(&b, m, Options{}); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{"4 links, 60 runs in virtual time, 5 seeds, in 12.5 s",
		"irn     98 %  1.40 (1.30–1.50) × fasr", "gbn     90 %  all tied", "1 of 4 links have no answer"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "\x1b") {
		t.Error("a reason reaches the terminal raw")
	}
}
