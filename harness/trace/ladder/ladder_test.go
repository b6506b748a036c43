package ladder_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ladder"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files of this package anew")

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got)\n%s", path, d)
	}
}

func draw(t *testing.T, f *fixture.Trace, opt ladder.Options) string {
	t.Helper()
	var b strings.Builder
	if err := ladder.Draw(&b, &f.Header, f.Records, f.Events, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The ladder of a lost packet, as in the documents of the project.
func TestLadderForm(t *testing.T) {
	want := `     sent      recv  A                                                  B
    0.088     5.088  |-- WRITE_FIRST psn=+0 len=1024 ------------------>|
    0.176     5.176  |-- WRITE_MIDDLE psn=+1 len=1024 ----------------->|
    0.264         -  |-- WRITE_MIDDLE psn=+2 len=1024 -------X          |  drop[0]
    5.358    10.358  |<----------------- NAK psn=+2 msn=0 PSN_SEQ_ERR --|
event 20.628 A CQE wr=1
`
	for _, base := range tracetest.Bases {
		if d := cmp.Diff(want, draw(t, tracetest.Parse(t, tracetest.MiddleLoss, base), ladder.Options{})); d != "" {
			t.Errorf("base %v (-want +got)\n%s", base, d)
		}
	}
}

func TestLadderGoldens(t *testing.T) {
	for _, tc := range []struct {
		name string
		opt  ladder.Options
	}{
		{"plain.txt", ladder.Options{}},
		{"all.txt", ladder.Options{Absolute: true, Everything: true, AllEvents: true}},
		{"conn1.txt", ladder.Options{OneConn: true, Conn: 1}},
		{"window.txt", ladder.Options{First: 100, Window: true, Center: 103, Before: 1, After: 2,
			Marks: map[uint64]string{103: "RC-PSN-001"}}},
	} {
		golden(t, tc.name, draw(t, tracetest.Parse(t, tracetest.Everything, 1000), tc.opt))
	}
}

// A ladder with relative PSNs is the same for every start PSN.
func TestLadderSameAtEveryStart(t *testing.T) {
	want := draw(t, tracetest.Parse(t, tracetest.Everything, 0), ladder.Options{})
	for _, base := range append(tracetest.Bases, psn.Mask) {
		if d := cmp.Diff(want, draw(t, tracetest.Parse(t, tracetest.Everything, base), ladder.Options{})); d != "" {
			t.Errorf("base %v (-want +got)\n%s", base, d)
		}
	}
}
