// Package lowar is LoWAR endpoints that are wrong on purpose, one behaviour broken in each, to prove that every rule of
// the family can fail.
//
// The correct engine itself is unchanged. A variant wraps it in a shell that alters, drops, repeats or forges packets,
// changes placements or whole frames, or reports wrong variables; or it overrides parameters of the run.
package lowar

import (
	"embed"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/broken"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/lowar"
)

//go:embed testdata
var stimuli embed.FS

// Family returns the variants.
func Family() broken.Family {
	return broken.Make(right, stimuli,
		slices.Concat(headers(), payloads(), blocks(), recovering(), failing(), trusting(), accounts())...)
}

// right returns the implementation that most variants break: the shim below go-back-N.
func right() engine.Implementation { return lowar.Over(gbn.Implementation()) }

// seesRepairs delivers packets of the shim to an endpoint without the shim.
func seesRepairs(impl *engine.Implementation) {
	impl.Accepts = func(o roce.Opcode) bool { return o == roce.LoWAR }
}
