package judging

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
)

// Declared is what a judge has to know of the implementations at A and B under the parameters given: the features that
// both declare, and of two different ones what each declares for itself.
func Declared(impls [2]engine.Implementation, given engine.Params) rule.Options {
	return rule.Options{Features: shared(impls, given), Ends: ends(impls, given)}
}

// shared is what both implementations declare.
func shared(impls [2]engine.Implementation, given engine.Params) []string {
	other := impls[1].DeclaresWith(given)
	return slices.DeleteFunc(impls[0].DeclaresWith(given), func(f string) bool { return !slices.Contains(other, f) })
}

// ends is what each of two different implementations declares; nil when they are the same one, and for a path with a
// middlebox, which is an end as well.
func ends(impls [2]engine.Implementation, given engine.Params) *[2]rule.End {
	if impls[0].Name == impls[1].Name || impls[0].NewBox != nil {
		return nil
	}
	var out [2]rule.End
	for side := range impls {
		out[side] = rule.End{Features: impls[side].DeclaresWith(given), Accepts: impls[side].Accepts}
	}
	return &out
}

// foreign reports an implementation that this program describes and does not have: nothing is known of it but its
// packets.
func foreign(i *engine.Implementation) bool { return i.New == nil && i.NewHost == nil }
