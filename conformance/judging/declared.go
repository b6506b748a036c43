package judging

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
)

// Declared returns the options of a Judge for the implementations at A and B with the given parameters: the features
// that both declare and, for two different implementations, the declaration of each.
func Declared(impls [2]engine.Implementation, given engine.Params) rule.Options {
	o := rule.Options{Features: shared(impls, given), Ends: ends(impls, given)}
	o.Mixed = o.Ends != nil && !slices.Equal(kind(o.Ends[0].Features), kind(o.Ends[1].Features))
	return o
}

// driven lists the features of the contract that say how a program is driven, and nothing of its scheme.
var driven = []string{"cm", "dilate", "spec", "tcp"}

// kind returns the features of a scheme, in order.
func kind(features []string) []string {
	return slices.Sorted(func(yield func(string) bool) {
		for _, f := range features {
			if !slices.Contains(driven, f) && !yield(f) {
				return
			}
		}
	})
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
