package gate

import (
	"cmp"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
)

// mostLabelsFirst orders scenarios greedily: the next one is always that with the most labels, such as rules, that no
// earlier one has. A budget that ends early has then exercised as many rules as possible.
func mostLabelsFirst(specs []suite.Spec) []suite.Spec {
	rest, seen, out := slices.Clone(specs), map[string]bool{}, make([]suite.Spec, 0, len(specs))
	fresh := func(s suite.Spec) (n int) {
		for _, label := range s.Labels {
			if !seen[label] {
				n++
			}
		}
		return n
	}
	for len(rest) > 0 {
		best := 0
		for i := range rest {
			if cmp.Compare(fresh(rest[i]), fresh(rest[best])) > 0 {
				best = i
			}
		}
		for _, label := range rest[best].Labels {
			seen[label] = true
		}
		out = append(out, rest[best])
		rest = slices.Delete(rest, best, best+1)
	}
	return out
}
