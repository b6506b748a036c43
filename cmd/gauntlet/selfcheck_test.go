package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/selfcheck"
	"github.com/rdma-gauntlet/gauntlet/conformance/meta"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
)

// TestSelfcheck leaves out the broken engines, which the tests below impls/broken run from three start PSNs.
func TestSelfcheck(t *testing.T) {
	ids := slices.DeleteFunc(selfcheck.IDs(), func(id string) bool { return id == meta.Mutants })
	o := gauntlet(t, t.TempDir(), append([]string{"selfcheck", "--json"}, ids...)...)
	var verdicts []rule.Verdict
	if err := json.Unmarshal([]byte(o.stdout), &verdicts); err != nil || o.code != 0 {
		t.Fatalf("exit %d, %v\n%s%s", o.code, err, o.stdout, o.stderr)
	}
	var got []string
	for _, v := range verdicts {
		if got = append(got, v.Rule); v.Status != rule.Pass || v.Met < 4 {
			t.Errorf("%s: %v, met %d, %v", v.Rule, v.Status, v.Met, v.Findings)
		}
	}
	if !slices.Equal(got, ids) {
		t.Errorf("verdicts of %v", got)
	}
	if o := gauntlet(t, t.TempDir(), "selfcheck", "META-XYZ-001"); o.code != exitUsage || !strings.Contains(o.stderr,
		"want one of META-CLK-001") {
		t.Errorf("exit %d, %s", o.code, o.stderr)
	}
}
