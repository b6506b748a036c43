package terminal

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

// The golden file is rewritten by: go test ./reports/terminal -rewrite
func TestPerfGolden(t *testing.T) {
	datadriven.RunTest(t, "testdata/perf.txt", func(t *testing.T, d *datadriven.TestData) string {
		var b strings.Builder
		if err := Perf(&b, modeltest.Perf(), Options{Color: d.HasArg("color")}); err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(b.String(), "\x1b", "^")
	})
}
