package process

import (
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// capabilities is the declaration of an engine as a program. The MTUs and operations that it refuses are found when its
// QPs are made, or by a rule.
func capabilities(impl *engine.Implementation) *contract.Capabilities {
	var operations, params []string
	for op := engine.OpSend; op <= engine.OpFetchAdd; op++ {
		operations = append(operations, op.String())
	}
	for _, p := range impl.Params {
		params = append(params, p.Name)
	}
	features := append([]string{"cm", contract.FeatureDilate, "spec"}, impl.Features...)
	if impl.NewStream != nil {
		features = append(features, "tcp")
	}
	all := strings.Join(operations, " ")
	return &contract.Capabilities{
		Contract: contract.Version, Program: impl.Name, Version: "built-in", Operations: all, Serves: all,
		MTUs:     "256 512 1024 2048 4096",
		Recovery: impl.Recover, Features: strings.Join(features, " "), Params: strings.Join(params, " "),
		MaxQPs: scenario.MaxQPs, Reports: "cqe memory file",
	}
}
