package terminal

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

// The golden file is rewritten by: go test ./reports/terminal -rewrite
func TestChangesGolden(t *testing.T) {
	datadriven.RunTest(t, "testdata/change.txt", func(t *testing.T, d *datadriven.TestData) string {
		c := modeltest.Changes()
		if d.HasArg("same") {
			c.Numbers = c.Numbers[:1]
		}
		var b strings.Builder
		if err := Changes(&b, c, Options{Color: d.HasArg("color")}); err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(b.String(), "\x1b", "^")
	})
}
