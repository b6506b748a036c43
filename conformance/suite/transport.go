package suite

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
)

// ofRC is the feature of implementations of RoCEv2 reliable connections.
const ofRC = "rc"

// Suits reports whether a scenario is for the transport of an implementation. A scenario for one scheme of RoCEv2
// exercises the other schemes as well and is run for all of them; a scenario for another transport has other parameters
// and packets, and no rule would judge it.
func (cfg *Config) Suits(impl string, sc *scenarios.Scenario) bool {
	declared := cfg.Features[impl]
	if slices.ContainsFunc(sc.Without, func(feature string) bool { return slices.Contains(declared, feature) }) {
		return false
	}
	if len(declared) == 0 || len(sc.Rules) == 0 {
		return true
	}
	for _, r := range rules.All() {
		if slices.Contains(sc.Rules, r.ID) &&
			(r.AppliesTo(declared) || slices.Contains(declared, ofRC) && !cfg.elsewhere(&r)) {
			return true
		}
	}
	return false
}

// elsewhere reports whether a rule can judge implementations of other transports only.
func (cfg *Config) elsewhere(r *rule.Rule) bool {
	other := false
	for _, declared := range cfg.Features {
		if !r.AppliesTo(declared) {
			continue
		}
		if slices.Contains(declared, ofRC) {
			return false
		}
		other = true
	}
	return other
}
