package rules

import (
	"regexp"
	"slices"
	"testing"

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

func TestFamilies(t *testing.T) {
	for _, f := range []struct {
		name  string
		rules []rule.Rule
		want  int
	}{{"WIRE", wire.Rules(), 26}, {"RC", rc.Rules(), 47}, {"NEG", neg.Rules(), 30}, {"GBN", gbn.Rules(), 16},
		{"GB1", gb1.Rules(), 18},
		{"IRN", irn.Rules(), 28}, {"FASR", fasr.Rules(), 34}, {"LOWAR", lowar.Rules(), 36}, {"PACK", pack.Rules(), 27},
		{"APN", apn.Rules(), 8},
		{"DIW, UDSR and WREC", diw.Rules(), 36}, {"RCIW", rciw.Rules(), 8}, {"SRN", srn.Rules(), 6},
		{"WRK", wrk.Rules(), 14}, {"CTR", ctr.Rules(), 16}} {
		if len(f.rules) != f.want {
			t.Errorf("%s: %d rules, the catalogue has %d", f.name, len(f.rules), f.want)
		}
		if !slices.IsSortedFunc(f.rules, func(a, b rule.Rule) int { return cmpString(a.ID, b.ID) }) {
			t.Errorf("%s: not in the order of IDs", f.name)
		}
	}
}

func cmpString(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

var idForm = regexp.MustCompile(`^[A-Z0-9]+-[A-Z0-9]+-\d{3}$`)

func TestEveryRuleIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range All() {
		if seen[r.ID] || !idForm.MatchString(r.ID) {
			t.Errorf("%q: not unique, or not of the form FAMILY-TOPIC-001", r.ID)
		}
		seen[r.ID] = true
		if err := rule.Complete(&r); err != nil {
			t.Error(err)
		}
	}
}
