// Package rules is the list of every conformance rule, by family.
package rules

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/apn"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/ctr"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/diw"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/fasr"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/gb1"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/gbn"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/irn"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/lowar"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/neg"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/pack"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/rc"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/rciw"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/srn"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/wire"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules/wrk"
)

// All returns every rule, in the order of the catalogue. The caller may keep and change the slice.
func All() []rule.Rule {
	return slices.Concat(wire.Rules(), rc.Rules(), neg.Rules(), gbn.Rules(), gb1.Rules(), irn.Rules(), fasr.Rules(),
		lowar.Rules(), apn.Rules(), pack.Rules(), diw.Rules(), rciw.Rules(), srn.Rules(), wrk.Rules(), ctr.Rules())
}
