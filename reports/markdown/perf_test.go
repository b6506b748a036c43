package markdown

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

// The golden file is rewritten by: go test ./reports/markdown -rewrite
func TestPerfGolden(t *testing.T) {
	datadriven.RunTest(t, "testdata/perf.txt", func(t *testing.T, _ *datadriven.TestData) string {
		var b strings.Builder
		if err := Perf(&b, modeltest.Perf()); err != nil {
			t.Fatal(err)
		}
		return b.String()
	})
}
