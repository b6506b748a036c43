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

func contrast(t *testing.T, m *model.Contrast, o Options) string {
	t.Helper()
	var b strings.Builder
	if err := Contrast(&b, m, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The golden file is rewritten by: go test ./reports/terminal -rewrite
func TestContrastGolden(t *testing.T) {
	datadriven.RunTest(t, "testdata/contrast.txt", func(t *testing.T, d *datadriven.TestData) string {
		return strings.ReplaceAll(contrast(t, modeltest.Contrast(), Options{Color: d.HasArg("color")}), "\x1b", "^")
	})
}

// The tables have a bounded width, also with long numbers.
func TestContrastFitsItsColumns(t *testing.T) {
	m := modeltest.Contrast()
	m.Impls[1] = "writerecord"
	run := &m.Rows[1].Sides[0].Stream
	run.Lost, run.NAKs, run.Reasons.GoneBack.Median, run.Reasons.Timeouts.Seen = 12_345, 1_234, 65_536, 123
	for l := range strings.Lines(contrast(t, m, Options{})) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(l, "\n")); n > columns {
			t.Errorf("%d columns: %s", n, l)
		}
	}
}

func TestContrastHostileText(t *testing.T) {
	m := modeltest.Contrast()
	nasty := "\x1b]0;owned\a\r\u202e"
	m.Kernel, m.Conditions, m.Impls[1] = nasty, nasty, nasty
	m.Rows[0].Sides[0].Stream.Status, m.Rows[0].Sides[0].Stream.Reason = "FAIL", nasty
	if got := contrast(t, m, Options{}); strings.ContainsAny(got, "\x1b\a\r\u202e") {
		t.Errorf("control characters in %q", got)
	}
	if err := Contrast(full{}, m, Options{}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error %v", err)
	}
}
