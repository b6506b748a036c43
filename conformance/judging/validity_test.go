package judging_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	brokengbn "github.com/rdma-gauntlet/gauntlet/impls/broken/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
)

// doubtful is the simulator with certificates, and an error, that somebody else made.
type doubtful struct {
	certificates []certify.Certificate
	err          error
}

// Run implements bench.Bench.
func (d doubtful) Run(ctx context.Context, job *bench.Job) (*bench.Evidence, error) {
	ev, err := sim.Bench{}.Run(ctx, job)
	if ev != nil {
		ev.Certificates = d.certificates
	}
	if d.err != nil {
		err = d.err
	}
	return ev, err
}

// judged is a run of an engine with itself, as its bench sees it.
func judged(t *testing.T, spec *scenario.Spec, impl engine.Implementation, d doubtful) (*judging.Outcome, error) {
	t.Helper()
	job, err := bench.NewJob(spec, [2]engine.Implementation{impl, impl})
	if err != nil {
		t.Fatal(err)
	}
	job.Bytes = true
	return (&judging.Run{Job: job, Bench: d, Rules: rules.All()}).Play(t.Context())
}

// failed returns a certificate of which the items of some properties failed, and another one holds.
func failed(properties ...validity.Property) certify.Certificate {
	items := []certify.Item{{Name: "the rest", OK: true, Property: validity.Everything}}
	for _, p := range properties {
		items = append(items, certify.Item{Name: p.String(), Want: "good", Got: "bad", Bound: "none", Property: p})
	}
	return certify.Issue("during", items)
}

// trial is an engine and a run in which it is judged.
type trial struct {
	name string
	impl engine.Implementation
	spec *scenario.Spec
}

// trials are a right engine and some that break rules which rest on different things, each over scenarios.
func trials(t *testing.T) (list []trial) {
	t.Helper()
	list = append(list, trial{"gbn", gbn.Implementation(), parse(t, lossy)})
	for _, sc := range scenarios.All() {
		if sc.Name == "loss-middle" || sc.Name == "loss-tail" || sc.Name == "rnr" {
			spec, err := sc.Spec()
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, trial{"gbn " + sc.Name, gbn.Implementation(), spec})
		}
	}
	for _, id := range []string{"WIRE-ICRC-001", "WIRE-UDP-001", "GBN-NAK-001", "GBN-NAK-002", "GBN-TAIL-001", "RC-TMO-001", "RC-MSN-001"} {
		list = append(list, breaking(t, id))
	}
	return list
}

// breaking returns an engine that breaks a rule, and a run that shows it.
func breaking(t *testing.T, id string) trial {
	t.Helper()
	family := brokengbn.Family()
	for _, v := range family.Variants {
		if !slices.Contains(v.Catches, id) {
			continue
		}
		text, err := family.Stimulus(v.Scenarios[0])
		if err != nil {
			t.Fatal(err)
		}
		return trial{v.Impl.Name, v.Impl, parse(t, text)}
	}
	t.Fatalf("no engine breaks %s", id)
	return trial{}
}

// TestFailedPropertyTakesItsRulesOnly is META-VAL-001: a property of link, capture or host that fails changes the verdicts of the
// rules that declare that they rest on it, and of no others. Those that had said something say INVALID, and why.
func TestFailedPropertyTakesItsRulesOnly(t *testing.T) {
	list, taken, kept := rules.All(), map[rule.Status]int{}, map[rule.Status]int{}
	for _, x := range trials(t) {
		before, err := judged(t, x.spec, x.impl, doubtful{})
		if err != nil && !errors.Is(err, sim.ErrLimit) {
			t.Fatalf("%s: %v", x.name, err)
		}
		for p := validity.Frames; p <= validity.Clock; p <<= 1 {
			after := slices.Clone(before.Verdicts) // what Play does in the end
			judging.Invalidate(after, []certify.Certificate{failed(), failed(p)}, nil)
			for i, was := range before.Verdicts {
				is, want := after[i], was
				says := was.Status != rule.Inconclusive && was.Status != rule.NotApplicable
				switch declares := list[i].RestsOn().Has(p); {
				case declares && says:
					want.Status, want.Reason = rule.Invalid, "link certificate during the run: "+p.String()+" is bad, want good: none"
					taken[was.Status]++
				case says:
					kept[was.Status]++
				}
				if !reflect.DeepEqual(want, is) {
					t.Errorf("%s, %v fails, %s: (-want +got)\n%s", x.name, p, was.Rule, cmp.Diff(want, is))
				}
			}
		}
	}
	for _, s := range []rule.Status{rule.Pass, rule.Fail} {
		if taken[s] == 0 || kept[s] == 0 {
			t.Errorf("%v: %d verdicts were taken and %d kept; nothing was tried", s, taken[s], kept[s])
		}
	}
}

// TestNothingHidesAFailure settles runs whose engine is wrong and whose link or bench is too.
func TestNothingHidesAFailure(t *testing.T) {
	crash := errors.New("tap: read: bad file descriptor")
	for _, c := range []struct {
		breaks string
		d      doubtful
		want   rule.Status
	}{
		{"WIRE-ICRC-001", doubtful{certificates: []certify.Certificate{failed(validity.Lateness, validity.Capture, validity.Loss)}}, rule.Fail},
		{"GBN-NAK-002", doubtful{certificates: []certify.Certificate{failed(validity.Lateness, validity.Delay)}}, rule.Fail},
		{"GBN-NAK-002", doubtful{certificates: []certify.Certificate{failed(validity.Capture)}}, rule.Invalid},
		{"GBN-NAK-001", doubtful{certificates: []certify.Certificate{failed(validity.Loss)}}, rule.Fail},
		{"GBN-NAK-001", doubtful{certificates: []certify.Certificate{failed(validity.Lateness)}}, rule.Invalid},
		{"WIRE-ICRC-001", doubtful{certificates: []certify.Certificate{certify.Issue("before", nil)}}, rule.Fail},
		{"WIRE-ICRC-001", doubtful{certificates: []certify.Certificate{failed(0)}}, rule.Invalid}, // nobody knows what failed
		{"WIRE-ICRC-001", doubtful{err: crash}, rule.Fail},
		{"GBN-NAK-002", doubtful{err: crash}, rule.Error},
		{"GBN-NAK-002", doubtful{err: &bench.Fault{Err: sim.ErrLimit}}, rule.Fail},
	} {
		x := breaking(t, c.breaks)
		o, err := judged(t, x.spec, x.impl, c.d)
		status, reason := judging.Settle(o.Verdicts, o.Evidence.Certificates, err)
		found := o.ByRule()[c.breaks]
		if status != c.want || (found.Status == rule.Fail) != (c.want == rule.Fail) || len(found.Findings) == 0 {
			t.Errorf("%s of %s with %+v: %v, %q; the verdict is %v with %d findings", c.breaks, x.name, c.d, status, reason, found.Status, len(found.Findings))
		}
		if c.d.err != nil && reason != c.d.err.Error() {
			t.Errorf("%s: reason %q, want that of the bench", c.breaks, reason)
		}
	}
}
