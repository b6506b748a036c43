package netns

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
)

// overKernelTCP decides whether the kernel's TCP carries the QPs of a run: if both implementations can use their host's
// TCP, unless the run asks for TCP-lite. The error is the reason why that is impossible.
func overKernelTCP(job *bench.Job) (bool, error) {
	want := job.Spec.Params[engine.TCPParam]
	for _, impl := range job.Impls {
		switch {
		case want == engine.LiteTCP:
			return false, nil
		case impl.NewStream == nil && want == engine.KernelTCP:
			return false, fmt.Errorf("netns: tcp=kernel: %s makes its segments itself; leave tcp out", impl.Name)
		case impl.NewStream == nil:
			return false, nil
		}
	}
	for _, f := range job.Spec.Faults {
		if f.PSN.Given {
			return false, fmt.Errorf("netns: fault %q: the kernel numbers its packets as it likes; pick one by nth=, "+
				"or use --param tcp=lite", f)
		}
	}
	for side, impl := range job.Impls {
		if _, err := impl.NewStream(job.Spec.Ends(0)[side], &memory.Host{}); err != nil {
			return false, err
		}
	}
	return true, nil
}
