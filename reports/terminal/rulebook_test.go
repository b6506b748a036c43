package terminal

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

// TestRulebook: all known facts of a rule are shown, and prose is wrapped to the width of a terminal.
func TestRulebook(t *testing.T) {
	b := modeltest.Rulebook()
	b.Families[0].Rules[0].Causes[0] = strings.Repeat("word ", 100)
	var out bytes.Buffer
	if err := Rulebook(&out, b, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"RC-NAK-002  MUST NOT", "One NAK for each gap. [IBTA 9.7.5.2]", "the responder's tap",
		"  - word", "given qp rate=1G",
		"|<-- NAK --|  <== RC-NAK-002", "✗ packet 3", "broken-nak-always: sends", "pass_twice",
		"not built    nobody tells", "none: an engine posts nothing"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out.String())
		}
	}
	for l := range strings.Lines(out.String()) {
		if width(l) > measure+1 {
			t.Errorf("%d columns: %s", width(l), l)
		}
	}
}
