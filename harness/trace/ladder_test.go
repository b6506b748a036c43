package trace

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
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

func draw(t *testing.T, f *Fixture, opt LadderOptions) string {
	t.Helper()
	var b strings.Builder
	if err := Ladder(&b, &f.Header, f.Records, f.Events, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const middleLoss = `
@0.088..5.088 A>B WRITE_FIRST psn=+0 len=1024
@0.176..5.176 A>B WRITE_MIDDLE psn=+1 len=1024
@0.264 A>X WRITE_MIDDLE psn=+2 len=1024 cause=drop[0]
@5.358..10.358 B>A NAK psn=+2 msn=0 PSN_SEQ_ERR
@20.628 A cqe wr=1
`

// The drawing of a lost packet, as every document of the project shows it.
func TestLadderForm(t *testing.T) {
	want := `     sent      recv  A                                                  B
    0.088     5.088  |-- WRITE_FIRST psn=+0 len=1024 ------------------>|
    0.176     5.176  |-- WRITE_MIDDLE psn=+1 len=1024 ----------------->|
    0.264         -  |-- WRITE_MIDDLE psn=+2 len=1024 -------X          |  drop[0]
    5.358    10.358  |<----------------- NAK psn=+2 msn=0 PSN_SEQ_ERR --|
event 20.628 A CQE wr=1
`
	for _, base := range bases {
		if d := cmp.Diff(want, draw(t, mustFixture(t, middleLoss, base), LadderOptions{})); d != "" {
			t.Errorf("base %v (-want +got)\n%s", base, d)
		}
	}
}

const everything = `qp conn=1 start=7
A post wr=1 WRITE len=2048
A>B WRITE_FIRST psn=+0 len=1024
A>B WRITE_LAST psn=+1 len=1024 A got WRITE_LAST psn=+1 len=1024 A icrc=bad
A>B WRITE_FIRST psn=+0 len=1024 copy cause=duplicate
X>B WRITE_ONLY psn=-1 len=8
X>A NAK psn=+1 msn=0 PSN_SEQ_ERR
B>X ACK psn=+1 msn=1
B>A ACK psn=+1 msn=1 got cut=4
A>B SEND_ONLY psn=+0 len=4 conn=1 A
B>A ACK psn=+0 msn=1 credit=3 conn=1
A>B ATOMIC_WRITE psn=+1 len=8 cut=12
A timer 5us
A timeout psn=+1
A timer off
B store va=0x10 len=9 sum=1
B recv wr=3 SEND len=4 conn=1
B receive wr=4 len=64
B probe epsn=+2
A fatal RETRY_EXC_ERR
A cqe wr=1 RETRY_EXC_ERR
`

func TestLadderGoldens(t *testing.T) {
	for _, tc := range []struct {
		name string
		opt  LadderOptions
	}{
		{"ladder_plain.txt", LadderOptions{}},
		{"ladder_all.txt", LadderOptions{Absolute: true, Everything: true, AllEvents: true}},
		{"ladder_conn1.txt", LadderOptions{OneConn: true, Conn: 1}},
		{"ladder_window.txt", LadderOptions{First: 100, Window: true, Center: 103, Before: 1, After: 2,
			Marks: map[uint64]string{103: "RC-PSN-001"}}},
	} {
		golden(t, tc.name, draw(t, mustFixture(t, everything, 1000), tc.opt))
	}
}

// A ladder whose PSNs are relative is the same wherever the PSNs start.
func TestLadderSameAtEveryStart(t *testing.T) {
	want := draw(t, mustFixture(t, everything, 0), LadderOptions{})
	for _, base := range append(bases, psn.Mask) {
		if d := cmp.Diff(want, draw(t, mustFixture(t, everything, base), LadderOptions{})); d != "" {
			t.Errorf("base %v (-want +got)\n%s", base, d)
		}
	}
}
