package terminal

import (
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"

	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

func matrix(t *testing.T, m *model.Matrix, o Options) string {
	t.Helper()
	var b strings.Builder
	if err := Matrix(&b, m, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The golden file is rewritten by: go test ./reports/terminal -rewrite
func TestMatrixGolden(t *testing.T) {
	datadriven.RunTest(t, "testdata/matrix.txt", func(t *testing.T, d *datadriven.TestData) string {
		return strings.ReplaceAll(matrix(t, modeltest.Matrix(), Options{Color: d.HasArg("color")}), "\x1b", "^")
	})
}

// The tables have a bounded width, whatever the names and the number of broken rules.
func TestMatrixFitsItsColumns(t *testing.T) {
	m := modeltest.Matrix()
	m.Cells[1].Broken = []string{"A-VERY-LONG-NAME-OF-A-RULE-THAT-NOBODY-SHOULD-HAVE-001", "B"}
	m.Kills[0].Caught = append(m.Kills[0].Caught, m.Kills[0].Caught...)
	m.Kills[0].Caught = append(m.Kills[0].Caught, m.Kills[0].Caught...)
	m.Kills[0].Caught = append(m.Kills[0].Caught, m.Kills[0].Caught...)
	for l := range strings.Lines(matrix(t, m, Options{})) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(l, "\n")); n > columns && !strings.HasPrefix(l, "    ") &&
			!strings.Contains(l, " over ") {
			t.Errorf("%d columns: %s", n, l)
		}
	}
}

func TestMatrixHostileText(t *testing.T) {
	m := modeltest.Matrix()
	nasty := "\x1b]0;owned\a\r\u202e"
	m.Bench, m.Folder, m.Cells[0].Impl, m.Cells[1].Link, m.Cells[1].Reason, m.Cells[1].Folder, m.Cells[1].Again = nasty,
		nasty, nasty, nasty, nasty, nasty, nasty
	m.Cells[1].Broken, m.Kills[0].Name, m.Kills[1].Reason = []string{nasty}, nasty, nasty
	if got := matrix(t, m, Options{}); strings.ContainsAny(got, "\x1b\a\r\u202e") {
		t.Errorf("control characters in %q", got)
	}
	if err := Matrix(full{}, m, Options{}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error %v", err)
	}
}

func TestPeers(t *testing.T) {
	got := matrix(t, modeltest.Peers(), Options{})
	for _, want := range []string{"3 implementations, each with each, over 1 link", "1  gbn          PASS  FAIL   ERR",
		"2  irn           n/a  PASS   ERR",
		"FAIL: RC-ACK-002\n    gbn+irn\n", "ERROR: contract: ./mine: it said nothing\n    gbn+exec:./mine " +
			"irn+exec:./mine exec:./mine+gbn exec:./mine+irn exec:./mine+exec:./mine\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
