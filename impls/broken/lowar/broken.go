// Package lowar is LoWAR endpoints that are wrong on purpose, one behaviour broken in each, to prove that every rule of
// the family can fail.
//
// Nothing of the right engine is changed. A variant puts it behind a shell that alters, drops, repeats or makes up
// packets, changes what is placed in memory or whole frames, or gives a wrong account of the engine's variables; or it
// runs with other parameters than the run says.
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

// right is what most variants break: the shim below go-back-N.
func right() engine.Implementation { return lowar.Over(gbn.Implementation()) }

// seesRepairs lets an endpoint without the shim see its packets.
func seesRepairs(impl *engine.Implementation) {
	impl.Accepts = func(o roce.Opcode) bool { return o == roce.LoWAR }
}
