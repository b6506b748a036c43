package judging_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// A Go test of an engine: one per cent of the packets are lost each way, and no rule may be broken.
func ExampleSimulate() {
	spec, err := scenario.Parse(strings.NewReader(
		"seed 1\nlink rate=1G delay=1ms\nloss random p=1e-2\nload write msg=64KiB count=20"))
	if err != nil {
		fmt.Println(err)
		return
	}
	o, err := judging.Simulate(context.Background(), spec, gbn.Implementation(), rules.All())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range o.Failed() {
		fmt.Println(v.Rule, v.Status, v.Findings)
	}
	nak := o.ByRule()["GBN-NAK-002"]
	fmt.Printf("%s: %s\n", nak.Title, nak.Status)
	// Output:
	// No second sequence NAK leaves before the expected packet has arrived: PASS
}
