// Package irn is IRN engines that are wrong on purpose, one behaviour broken in each, to prove that every rule of the
// family can fail.
//
// The correct engine itself is unchanged. A variant wraps it in a shell that alters, drops, repeats or forges packets,
// or reports wrong variables; or it overrides parameters of the run.
package irn

import (
	"embed"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/impls/broken"
	"github.com/rdma-gauntlet/gauntlet/impls/irn"
)

//go:embed testdata
var stimuli embed.FS

// Family returns the variants.
func Family() broken.Family {
	return broken.Make(irn.Implementation, stimuli, slices.Concat(reports(), nackers(), fillers(), flows(), holes(),
		places(), readers())...)
}
