package terminal

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

func TestQualification(t *testing.T) {
	q := modeltest.Qualification()
	q.Targets.Claims[3].Measured[0].Trouble = "no account \x1b[31m"
	var b strings.Builder
	if err := Qualification(&b, q, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"NOT QUALIFIED (link INVALID)  exec:./mine with gbn for rc-gbn",
		"  GBN-NAK-002 FAIL: second NAK of psn=+2\n", "  RC-RNR-001 XFAIL: waived by lab",
		"GBN-RTX-003 INCONCLUSIVE: the profile asks to see it hold", "scenario loss-tail INVALID",
		"not exercised: GBN-RTX-003", "40 ms, goodput ratio", "1.2 to 1.3", "FAIL  PT-XX-03",
		"target of PT-XX-05: of an FPGA", "2 scenarios, 3 link certificates, 2 valid",
		"waiver RC-PSN-001 for exec:*: EXPIRED, lab until 2020-01-31: long ago",
		"report: runs/mine/qualification.html"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Error("an escape sequence of a program got through")
	}
}
