package wrk_test

import (
	"os"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/wrk"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
)

// A NAK without a cause fails whoever the peer is: between two implementations, such as gbn and a program that speaks
// as gbn does, the packets of RC mean the same.
func TestNAKOfAnotherImplementation(t *testing.T) {
	file, err := os.Open("testdata/WRK-NAK-001/fail_legal.trace")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	f, err := fixture.Parse(file, 0)
	if err != nil {
		t.Fatal(err)
	}
	gbn, _ := all.Find("gbn")
	program := gbn
	program.Name, program.Features = "exec:mine", []string{"dilate"}
	j := rule.NewJudge(f.Header, wrk.Rules(), judging.Declared([2]engine.Implementation{gbn, program}, nil))
	f.Play(trace.NewTimeline(&f.Header, j))
	for _, v := range j.Verdicts() {
		if v.Rule == "WRK-NAK-001" && v.Status != rule.Fail {
			t.Errorf("%s between gbn and %s: %v", v.Rule, program.Name, v.Status)
		}
	}
}
