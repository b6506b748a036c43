// Package irn is IRN engines that are wrong on purpose, one behaviour broken in each, to prove that every rule of the
// family can fail.
//
// Nothing of the right engine is changed. A variant puts it behind a shell that alters, drops, repeats or makes up
// packets, or gives a wrong account of the engine's variables; or it runs with other parameters than the run says.
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
