package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/attributes"
	"github.com/rdma-gauntlet/gauntlet/conformance/meta/degrade"
	"github.com/rdma-gauntlet/gauntlet/conformance/meta/record"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/irn"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// stating judges what another program captured of a run of IRN at both ports, with the attributes that the user states.
func stating(t *testing.T, path string, qps, params []string) (*model.Result, error) {
	t.Helper()
	scheme := irn.Implementation()
	stated, err := attributes.Parse(qps, params, scheme)
	must(t, err)
	return Judge(t.Context(), JudgeOptions{Path: path, Rules: rules.All(), Scheme: "irn", QPs: stated,
		Schemes: map[string]engine.Implementation{"irn": scheme}})
}

// bothPorts writes the capture of a run of IRN at both ports, and returns its path.
func bothPorts(t *testing.T, lines string) string {
	t.Helper()
	r, err := record.Run(t.Context(), mustSpec(t, "seed 3\nlink rate=1G delay=1ms\nparam cap=60\nloss random p=1%\n"+
		"load write msg=64KiB count=20\n"+lines), irn.Implementation())
	must(t, err)
	wires, err := degrade.Wires(r.Header, r.Play)
	must(t, err)
	path := filepath.Join(t.TempDir(), "both.pcapng")
	must(t, os.WriteFile(path, degrade.Views[0].Of(wires[0]).File(), 0o600))
	return path
}

// TestStatedAttributes: rules that need attributes decide by those that the user states, if the capture shows
// the connection from its beginning.
func TestStatedAttributes(t *testing.T) {
	path := bothPorts(t, "qp start=4242\n")
	const whole = "timeout=14 retry=7 rnr=7 min-rnr=12 rd=16 dest-rd=16 access=wra qd=128 "
	for _, c := range []struct {
		qps, params []string
		cap         rule.Status
		line        string
	}{
		{nil, nil, rule.Inconclusive, "attributes: unknown, but for those that the frames show"},
		{[]string{whole + "start=4242"}, []string{"cap=60"}, rule.Pass, "attributes: as the user states them; not stated, " +
			"and presumed of irn: rto_high=0"},
		{[]string{whole + "start=4242"}, []string{"cap=30"}, rule.Fail, "attributes: as the user states them"},
		{[]string{whole}, []string{"cap=30"}, rule.Inconclusive, "has no start="},
		{[]string{whole + "start=4000"}, []string{"cap=30"}, rule.Inconclusive, "is psn=4242 and not 4000"},
		{[]string{whole + "start=4242 mtu=256"}, nil, rule.Inconclusive, "mtu=256 is stated of 10.77.0.1 QP 0x11, and the " +
			"capture shows 1024"},
	} {
		result, err := stating(t, path, c.qps, c.params)
		must(t, err)
		if v := verdict(result, "IRN-FC-001"); v.Status != c.cap {
			t.Errorf("%q %q: %v %s, want %v", c.qps, c.params, v.Status, v.Reason, c.cap)
		}
		if !strings.Contains(strings.Join(result.Notes, "\n"), c.line) {
			t.Errorf("%q: notes %q, want %q", c.qps, result.Notes, c.line)
		}
	}
	if _, err := stating(t, path, []string{whole, "192.0.2.9 qd=1"}, nil); err == nil ||
		!strings.Contains(err.Error(), path+`: --qp "192.0.2.9 qd=1": the capture has no such QP`) {
		t.Errorf("a QP that is not there: %v", err)
	}
}

// TestAttributesOfASetUp: what the messages agree on that set up a connection need not be stated, nor where it begins.
func TestAttributesOfASetUp(t *testing.T) {
	path := bothPorts(t, "cm on\nqp rd=9 dest-rd=9 rnr=3\n")
	for _, c := range []struct {
		qp, line string
		cap      rule.Status
	}{
		{"timeout=14 retry=7 min-rnr=12 access=wra", "as the user states them, and otherwise as the set-up of the " +
			"connections agrees on them", rule.Fail},
		{"timeout=14 retry=7 access=wra", "it does not say min-rnr: rules need", rule.Error},
		{"retry=7 min-rnr=12 access=wra", "it does not say timeout: rules need", rule.Error}, // the REQ tells the other end's
	} {
		result, err := stating(t, path, []string{c.qp}, []string{"cap=30"})
		text := fmt.Sprint(err)
		if err == nil {
			text = strings.Join(result.Notes, "\n")
			if v := verdict(result, "IRN-FC-001"); v.Status != c.cap {
				t.Errorf("%q: %v %s, want %v", c.qp, v.Status, v.Reason, c.cap)
			}
		}
		if !strings.Contains(text, c.line) {
			t.Errorf("%q: %q, want %q", c.qp, text, c.line)
		}
	}
}

// verdict returns the verdict of a rule.
func verdict(r *model.Result, id string) rule.Verdict {
	for _, v := range r.Verdicts {
		if v.Rule == id {
			return v
		}
	}
	return rule.Verdict{}
}
