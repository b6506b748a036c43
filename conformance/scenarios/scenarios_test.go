package scenarios_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func TestNames(t *testing.T) {
	all := scenarios.All()
	if len(all) < 40 {
		t.Errorf("%d scenarios; the embedded files are missing", len(all))
	}
	if !slices.IsSortedFunc(all, func(a, b scenarios.Scenario) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not in the order of names")
	}
	for i := 1; i < len(all); i++ {
		if all[i].Name == all[i-1].Name {
			t.Errorf("%s: twice", all[i].Name)
		}
	}
}

// TestScenarios checks that every file is usable on a real bench: it parses, begins with a text, names rules, and is
// slow and short enough for real time.
func TestScenarios(t *testing.T) {
	for _, s := range scenarios.All() {
		spec, err := s.Spec()
		if err != nil {
			t.Error(err)
			continue
		}
		switch {
		case s.Title == "" || len(s.Title) > 120:
			t.Errorf("%s: wants a title of one line on top", s.Name)
		case len(s.Rules) == 0:
			t.Errorf("%s: names no rule", s.Name)
		case strings.HasPrefix(s.Name, "random/") != strings.Contains(s.Text, "seed "):
			t.Errorf("%s: a seed belongs to random/, and every file there has one", s.Name)
		case spec.Link.AB.Rate == 0 || spec.Link.AB.Rate > 100*unit.Mbps:
			t.Errorf("%s: rate %s: want 100M at most, which user space can keep up with", s.Name, spec.Link.AB.Rate)
		case spec.RTT() < vtime.Millisecond || spec.RTT() > 20*vtime.Millisecond:
			t.Errorf("%s: RTT %s: want 1 to 20 ms", s.Name, spec.RTT())
		case s.NeedsFaults != (len(spec.Faults)+len(spec.Injections) > 0 || strings.Contains(s.Text, "loss burst")):
			t.Errorf("%s: NeedsFaults is %v", s.Name, s.NeedsFaults)
		}
	}
}

// unexercised are the rules that no scenario can exercise on a reliable connection, and why.
var unexercised = map[string]string{
	"WIRE-UD-001":  "needs an unreliable datagram QP",
	"NEG-QKEY-001": "needs an unreliable datagram QP",
	"NEG-FUZZ-001": "a million mutated packets; the engines' own tests run them",
	"GBN-BT0-001":  "an option of the simulators that go-back-N was measured with; no default",
	"GBN-NAK-004":  "an option of the simulators that go-back-N was measured with; no default",
	"APN-QD-004": "needs a device whose queue is shorter than the path; the engine's ladders and its " +
		"broken variants set a cap",
	"APN-QD-005": "needs a device whose queue is shorter than the path; the engine's ladders and its " +
		"broken variants set a cap",
	"APN-QD-007": "needs a device whose queue is shorter than the path; the engine's ladders and its " +
		"broken variants set a cap",
	"FASR-POOL-003": "needs a pool that other transports do not have; the engine's ladders and its broken " +
		"variants make it small",
	"FASR-POOL-004": "needs a pool that other transports do not have; the engine's ladders and its broken " +
		"variants make it small",
	"IRN-RTO-001": "needs two timeouts that other transports do not have; the engine's ladders and its " +
		"broken variants set them",
	"PACK-BUF-002": "needs a buffer as small as a few packets, which others do not have; the box's ladders and its " +
		"broken variants set it",
	"PACK-BUF-003": "needs a buffer as small as a few packets, which others do not have; the box's ladders and its " +
		"broken variants set it",
	"SRN-MOD-001": "needs a pipeline as slow as the link, which other transports do not have; the engine's tests " +
		"and its broken variants set it",
	"GB1-BUF-002": "needs a bound that other transports do not have; the engine's ladders and its " +
		"broken variants set it",
	"LOWAR-DEC-004": "needs a depth above 1, which other transports do not know; the engine's ladders and its " +
		"broken variants set it",
	"LOWAR-DEC-010": "needs ends with different parameters; the engine's ladders and its broken variants set them",
	"LOWAR-NEG-001": "needs adaptive parameters; the engine's ladders and its broken variants set them",
	"LOWAR-NEG-002": "needs adaptive parameters; the engine's ladders and its broken variants set them",
	"LOWAR-TRN-002": "needs the shim at one end only; its broken variants have it so",
	"CTR-ADP-001":   "needs counters that RNICs have and soft-RoCE has not",
	"CTR-CNP-001":   "needs counters that RNICs have and soft-RoCE has not",
	"CTR-CRC-001":   "needs counters that RNICs have and soft-RoCE has not",
	"CTR-DUP-001":   "needs a device that counts; its scenarios are in the folder device",
	"CTR-ERR-001":   "needs counters that RNICs have and soft-RoCE has not",
	"CTR-IMP-001":   "needs counters that RNICs have and soft-RoCE has not",
	"CTR-MONO-001":  "needs a device that counts; its scenarios are in the folder device",
	"CTR-NAK-001":   "needs a device that counts; its scenarios are in the folder device",
	"CTR-OOS-001":   "needs a device that counts; its scenarios are in the folder device",
	"CTR-PKT-001":   "needs a device that counts; its scenarios are in the folder device",
	"CTR-PKT-002":   "needs a device that counts; its scenarios are in the folder device",
	"CTR-REX-001":   "needs a device that counts; its scenarios are in the folder device",
	"CTR-RNR-001":   "needs a device that counts; its scenarios are in the folder device",
	"CTR-RNR-002":   "needs a device that counts; its scenarios are in the folder device",
	"CTR-RTX-001":   "needs a device that counts; its scenarios are in the folder device",
	"CTR-TMO-001":   "needs counters that RNICs have and soft-RoCE has not",
	"LOWAR-UNIT-002": "needs a pool that other transports do not have; the engine's ladders and its broken " +
		"variants make it small",
}

func TestEveryRuleIsExercised(t *testing.T) {
	named := map[string]bool{}
	for _, s := range scenarios.All() {
		for _, id := range s.Rules {
			named[id] = true
		}
	}
	for _, r := range rules.All() {
		_, excused := unexercised[r.ID]
		switch {
		case !named[r.ID] && !excused && r.Unbuilt == "":
			t.Errorf("%s: no scenario names it", r.ID)
		case named[r.ID] && excused:
			t.Errorf("%s: is exercised; take it off the list of exceptions", r.ID)
		}
		delete(named, r.ID)
	}
	for id := range named {
		t.Errorf("%s: named by a scenario, but no rule has this ID", id)
	}
}

func TestNew(t *testing.T) {
	s := scenarios.New("x", "# Title.\n# more\njudge A-1 B-2\nlink rate=1M\njudge C-3\npost-write wr=1 len=1\n")
	if s.Title != "Title" || !slices.Equal(s.Rules, []string{"A-1", "B-2", "C-3"}) || s.NeedsFaults {
		t.Errorf("%+v", s)
	}
	if want := "# Title.\n# more\n\nlink rate=1M\n\npost-write wr=1 len=1\n"; s.Text != want {
		t.Errorf("text %q, want %q", s.Text, want)
	}
	bad := scenarios.New("x", "# Title.\njudge A-1\nlink nonsense=1\n")
	if _, err := bad.Spec(); err == nil || !strings.Contains(err.Error(), "scenario x: line 3:") {
		t.Errorf("error %v: want the scenario and the line of its file", err)
	}
}
