// Package fasr is FaSR engines that are wrong on purpose, one behaviour broken in each, to prove that every rule of the
// family can fail.
//
// The correct engine itself is unchanged. A variant wraps it in a shell that alters, drops, repeats or forges packets,
// or reports wrong variables; or it overrides parameters of the run.
package fasr

import (
	"embed"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/impls/broken"
	"github.com/rdma-gauntlet/gauntlet/impls/fasr"
)

//go:embed testdata
var stimuli embed.FS

// Family returns the variants.
func Family() broken.Family {
	return broken.Make(fasr.Implementation, stimuli, slices.Concat(
		paths(), counts(), pools(), answers(), overflows(), gaps(), retransmissions(), fnacks(), timeouts())...)
}
