package wire

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
)

// Packets of several connections need not be of one service.
func TestOpcodesOfSeveralConnections(t *testing.T) {
	const text = "A>B WRITE_ONLY psn=+0 len=8 A\nA>B UD_SEND_ONLY psn=+1 len=8 qkey=0x1 srcqp=17\n"
	for _, several := range []bool{false, true} {
		f, err := fixture.Parse(strings.NewReader(text), 0)
		if err != nil {
			t.Fatal(err)
		}
		f.Header.Conns[0].Anew = several
		j := rule.NewJudge(f.Header, []rule.Rule{opcodeRegistered}, rule.Options{})
		f.Play(trace.NewTimeline(&f.Header, j))
		if got := j.Verdicts()[0].Status; (got == rule.Fail) == several {
			t.Errorf("several connections %v: %v", several, got)
		}
	}
}

// Bits that the ICRC does not cover may have been rewritten before a tap whose place was inferred.
func TestReservedBitsBeforeATap(t *testing.T) {
	for _, inferred := range []bool{false, true} {
		f, err := fixture.Parse(strings.NewReader("A>B WRITE_ONLY psn=+0 len=8 A resv6=1\n"), 0)
		if err != nil {
			t.Fatal(err)
		}
		f.Header.Inferred = inferred
		j := rule.NewJudge(f.Header, []rule.Rule{bthReserved}, rule.Options{})
		f.Play(trace.NewTimeline(&f.Header, j))
		if got := j.Verdicts()[0].Status; (got == rule.Fail) == inferred {
			t.Errorf("place inferred %v: %v", inferred, got)
		}
	}
}
