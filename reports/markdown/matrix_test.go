package markdown

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

func matrix(t *testing.T, m *model.Matrix) string {
	t.Helper()
	var b strings.Builder
	if err := Matrix(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The golden file is rewritten by: go test ./reports/markdown -rewrite
func TestMatrixGolden(t *testing.T) {
	datadriven.RunTest(t, "testdata/matrix.txt", func(t *testing.T, _ *datadriven.TestData) string {
		return matrix(t, modeltest.Matrix())
	})
}

func TestMatrixHostileText(t *testing.T) {
	m := modeltest.Matrix()
	nasty := "<script>alert(1)</script> | **x** `y`\n# heading"
	m.Bench, m.Links[1].Name, m.Cells[1].Link, m.Cells[1].Reason, m.Kills[1].Breaks = nasty, nasty, nasty, nasty, nasty
	got := matrix(t, m)
	if strings.Contains(strings.ReplaceAll(got, `\<`, ""), "<script") || strings.Contains(got, "\n# heading") ||
		strings.Contains(got, " **x**") {
		t.Errorf("markup of others in\n%s", got)
	}
}

func TestPeers(t *testing.T) {
	var b strings.Builder
	if err := Matrix(&b, modeltest.Peers()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| over clean: requester, with responder | `gbn` | `irn` | `exec:./mine` |",
		"| `gbn` | PASS | FAIL RC-ACK-002 | ERROR |", "| `irn` | NOT-APPLICABLE | PASS | ERROR |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
