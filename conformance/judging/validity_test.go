package judging_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	brokengbn "github.com/rdma-gauntlet/gauntlet/impls/broken/gbn"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
)

// doubtful is the simulator with certificates and an error that a test sets.
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

// judged returns the outcome of a run of an engine with itself on d.
func judged(t *testing.T, spec *scenario.Spec, impl engine.Implementation, d doubtful) (*judging.Outcome, error) {
	t.Helper()
	job, err := bench.NewJob(spec, [2]engine.Implementation{impl, impl})
	if err != nil {
		t.Fatal(err)
	}
	job.Bytes = true
	return (&judging.Run{Job: job, Bench: d, Rules: rules.All()}).Play(t.Context())
}

// failed returns a certificate whose items of some properties failed, and another one that holds.
func failed(properties ...validity.Property) certify.Certificate {
	items := []certify.Item{{Name: "the rest", OK: true, Property: validity.Everything}}
	for _, p := range properties {
		items = append(items, certify.Item{Name: p.String(), Want: "good", Got: "bad", Bound: "none", Property: p})
	}
	return certify.Issue("during", items)
}

// trial is an engine and a run to judge it in.
type trial struct {
	name string
	impl engine.Implementation
	spec *scenario.Spec
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

// TestNothingHidesAFailure settles runs in which the engine is wrong and so is the link or the bench.
func TestNothingHidesAFailure(t *testing.T) {
	crash := errors.New("tap: read: bad file descriptor")
	for _, c := range []struct {
		breaks string
		d      doubtful
		want   rule.Status
	}{
		{"WIRE-ICRC-001", doubtful{certificates: []certify.Certificate{failed(validity.Lateness, validity.Capture,
			validity.Loss)}}, rule.Fail},
		{"GBN-NAK-002",
			doubtful{certificates: []certify.Certificate{failed(validity.Lateness, validity.Delay)}}, rule.Fail},
		{"GBN-NAK-002", doubtful{certificates: []certify.Certificate{failed(validity.Capture)}}, rule.Invalid},
		{"GBN-NAK-001", doubtful{certificates: []certify.Certificate{failed(validity.Loss)}}, rule.Fail},
		{"GBN-NAK-001", doubtful{certificates: []certify.Certificate{failed(validity.Lateness)}}, rule.Invalid},
		{"WIRE-ICRC-001", doubtful{certificates: []certify.Certificate{certify.Issue("before", nil)}}, rule.Fail},
		// it is not known what failed
		{"WIRE-ICRC-001", doubtful{certificates: []certify.Certificate{failed(0)}}, rule.Invalid},
		{"WIRE-ICRC-001", doubtful{err: crash}, rule.Fail},
		{"GBN-NAK-002", doubtful{err: crash}, rule.Error},
		{"GBN-NAK-002", doubtful{err: &bench.Fault{Err: sim.ErrLimit}}, rule.Fail},
	} {
		x := breaking(t, c.breaks)
		o, err := judged(t, x.spec, x.impl, c.d)
		status, reason := judging.Settle(o.Verdicts, o.Evidence.Certificates, err)
		found := o.ByRule()[c.breaks]
		if status != c.want || (found.Status == rule.Fail) != (c.want == rule.Fail) || len(found.Findings) == 0 {
			t.Errorf("%s of %s with %+v: %v, %q; the verdict is %v with %d findings", c.breaks, x.name, c.d, status,
				reason, found.Status, len(found.Findings))
		}
		if c.d.err != nil && reason != c.d.err.Error() {
			t.Errorf("%s: reason %q, want that of the bench", c.breaks, reason)
		}
	}
}
