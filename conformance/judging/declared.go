package judging

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
)

// Declared returns the options of a Judge for the implementations at A and B with the given parameters: the features
// that both declare and, for two different implementations, the declaration of each.
func Declared(impls [2]engine.Implementation, given engine.Params) rule.Options {
	return rule.Options{Features: shared(impls, given), Ends: ends(impls, given)}
}

// shared returns the features that both implementations declare.
func shared(impls [2]engine.Implementation, given engine.Params) []string {
	other := impls[1].DeclaresWith(given)
	return slices.DeleteFunc(impls[0].DeclaresWith(given), func(f string) bool { return !slices.Contains(other, f) })
}

// ends returns the declaration of each of two different implementations; nil when they are the same, and for a path
// with a middlebox, which is an end as well.
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

// foreign reports whether this program only describes an implementation and cannot run it, so that only its packets are
// known.
func foreign(i *engine.Implementation) bool { return i.New == nil && i.NewHost == nil }
