package judging_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	brokengbn "github.com/rdma-gauntlet/gauntlet/impls/broken/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
)

const lossy = "seed 3\nlink rate=100M delay=5ms\nloss random p=2e-2\nload write msg=64KiB count=20\n"

func parse(t *testing.T, text string) *scenario.Spec {
	t.Helper()
	s, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// onSim is a run of go-back-N over a lossy link in virtual time.
func onSim(t *testing.T) *judging.Run {
	t.Helper()
	g := gbn.Implementation()
	job, err := bench.NewJob(parse(t, lossy), [2]engine.Implementation{g, g})
	if err != nil {
		t.Fatal(err)
	}
	job.Bytes = true
	return &judging.Run{Job: job, Bench: sim.Bench{}, Rules: rules.All()}
}

func play(t *testing.T, r *judging.Run) (*judging.Outcome, error) {
	t.Helper()
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	return r.Play(t.Context())
}

// TestSimulate judges a correct and a broken engine.
func TestSimulate(t *testing.T) {
	right, err := judging.Simulate(t.Context(), parse(t, lossy), gbn.Implementation(), rules.All())
	if err != nil || len(right.Failed()) > 0 || len(right.Verdicts) != len(rules.All()) {
		t.Fatalf("right engine: %v, %v, %d verdicts", err, right.Failed(), len(right.Verdicts))
	}
	for _, v := range brokengbn.Family().Variants {
		if !slices.Contains(v.Catches, "GBN-NAK-002") {
			continue
		}
		wrong, err := judging.Simulate(t.Context(), parse(t, lossy), v.Impl, rules.All())
		if err != nil && !errors.Is(err, sim.ErrLimit) {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(wrong.Failed(), func(v rule.Verdict) bool { return v.Rule == "GBN-NAK-002" }) {
			t.Errorf("%s: GBN-NAK-002 is not among those that failed", v.Name)
		}
		return
	}
	t.Fatal("no engine breaks GBN-NAK-002")
}

// late is a sink that passes everything on in Wait, and then returns an error.
type late struct {
	trace.Collector
	to  trace.Sink
	err error
}

func (l *late) Wait() error {
	for i := range l.Records {
		l.to.Packet(&l.Records[i])
	}
	return l.err
}

// TestSinkIsWaitedFor: records that a sink passes on after the bench has ended are judged.
func TestSinkIsWaitedFor(t *testing.T) {
	r := onSim(t)
	l := &late{err: errors.New("disk full")}
	r.Sink = func(h trace.Header, judge trace.Viewer) (trace.Sink, error) {
		l.to = trace.NewTimeline(&h, judge)
		return l, nil
	}
	o, err := play(t, r)
	if !errors.Is(err, l.err) {
		t.Errorf("error %v, want that of the sink", err)
	}
	if v := o.ByRule()["WIRE-ICRC-001"]; v.Met == 0 && len(l.Records) > 0 {
		t.Errorf("the judge saw none of %d packets: %+v", len(l.Records), v)
	}
}

// failing is a bench that fails before its trace begins, or after.
type failing struct{ open bool }

var errBench = errors.New("no such device")

func (f failing) Run(_ context.Context, job *bench.Job) (*bench.Evidence, error) {
	if f.open {
		if _, err := job.Open(trace.Header{}); err != nil {
			return nil, err
		}
	}
	return nil, errBench
}

// TestBrokenBench: the outcome is never nil, and has verdicts if the trace had begun.
func TestBrokenBench(t *testing.T) {
	for _, open := range []bool{false, true} {
		r := onSim(t)
		r.Bench = failing{open}
		o, err := play(t, r)
		if !errors.Is(err, errBench) || o == nil || (len(o.Verdicts) > 0) != open {
			t.Errorf("trace begun: %v: %v, %+v", open, err, o)
		}
	}
	r := onSim(t)
	r.Sink = func(trace.Header, trace.Viewer) (trace.Sink, error) { return nil, errBench }
	if o, err := play(t, r); !errors.Is(err, errBench) || len(o.Verdicts) > 0 {
		t.Errorf("no sink: %v, %d verdicts", err, len(o.Verdicts))
	}
}

// TestCheckAsksTheBench: a job that the simulator cannot play is refused before anything is created.
func TestCheckAsksTheBench(t *testing.T) {
	r := onSim(t)
	r.Job.Spec.Params = engine.Params{engine.TCPParam: engine.KernelTCP}
	if err := r.Check(); !errors.Is(err, bench.ErrUnsupported) {
		t.Errorf("error %v, want %v", err, bench.ErrUnsupported)
	}
	if o, err := judging.Simulate(t.Context(), r.Job.Spec, gbn.Implementation(), nil); o != nil || err == nil {
		t.Errorf("simulated all the same: %v, %v", o, err)
	}
}

// TestDeclared returns the features that both ends declare, and the declarations of two different ends.
func TestDeclared(t *testing.T) {
	find := func(name string) engine.Implementation {
		i, ok := all.Find(name)
		if !ok {
			t.Fatalf("no implementation %s", name)
		}
		return i
	}
	g, irn := find("gbn"), find("irn")
	if o := judging.Declared([2]engine.Implementation{g, g}, nil); o.Ends != nil ||
		!slices.Equal(o.Features, g.Declares()) {
		t.Errorf("gbn with itself: %+v", o)
	}
	o := judging.Declared([2]engine.Implementation{g, irn}, nil)
	if o.Ends == nil || !slices.Equal(o.Ends[1].Features, irn.Declares()) || !slices.Contains(o.Features, "rc") ||
		len(o.Features) >= len(g.Declares()) {
		t.Errorf("gbn with irn: %+v", o)
	}
}

func TestSettle(t *testing.T) {
	verdict := func(s rule.Status, required bool) []rule.Verdict {
		return []rule.Verdict{{Status: s, Required: required}}
	}
	crash := &bench.Fault{Side: trace.B, Program: "exec:./mine", Err: errors.New("it ended")}
	surely := &bench.Fault{Err: errors.New("it ended"), Rests: validity.Frames}
	late := []certify.Certificate{failed(validity.Lateness)}
	bad := []certify.Certificate{{Valid: true}, {When: "after", Reason: "rate"}, {When: "later", Reason: "delay"}}
	for _, c := range []struct {
		verdicts     []rule.Verdict
		certificates []certify.Certificate
		err          error
		status       rule.Status
		reason       string
	}{
		{nil, nil, nil, rule.Pass, ""},
		{verdict(rule.Pass, true), nil, nil, rule.Pass, ""},
		{verdict(rule.Inconclusive, true), nil, nil, rule.Inconclusive, "no rule was decided"},
		{append(verdict(rule.Inconclusive, true), verdict(rule.Pass, false)...), nil, nil, rule.Pass, ""},
		{verdict(rule.Fail, false), nil, nil, rule.Pass, ""},
		{verdict(rule.XFail, true), nil, nil, rule.Pass, ""},
		{verdict(rule.Fail, true), nil, nil, rule.Fail, ""},
		{verdict(rule.XPass, false), nil, nil, rule.XPass, ""},
		{verdict(rule.Error, false), nil, nil, rule.Error, ""},
		{verdict(rule.Invalid, true), bad, nil, rule.Invalid, "link certificate after the run: rate"},
		{verdict(rule.XPass, true), bad, nil, rule.Invalid, "link certificate after the run: rate"},
		{verdict(rule.Fail, true), bad, nil, rule.Fail, ""}, // the FAIL stands, or it would be INVALID
		{verdict(rule.Invalid, true), bad, errors.Join(errBench, errBench), rule.Error,
			"no such device; no such device"},
		{verdict(rule.Fail, true), bad, errors.Join(errBench, errBench), rule.Fail, "no such device; no such device"},
		{nil, nil, crash, rule.Fail, "it ended"},
		{verdict(rule.Error, true), nil, crash, rule.Error, "it ended"},
		{nil, bad, crash, rule.Invalid, "link certificate after the run: rate; it ended"},
		{verdict(rule.Fail, true), bad, crash, rule.Fail, "it ended"},
		{verdict(rule.Invalid, true), late, surely, rule.Fail, "it ended"},
		{nil, late, crash, rule.Invalid, "link certificate during the run: lateness is bad, want good: none; it ended"},
		{nil, bad, surely, rule.Fail, "it ended"},
	} {
		if status, reason := judging.Settle(c.verdicts, c.certificates, c.err); status != c.status ||
			reason != c.reason {
			t.Errorf("%+v: %v, %q", c, status, reason)
		}
	}
}

// Go-back-N under the name of another scheme breaks the rules of that scheme, although the program names none of the
// features on which they depend.
func TestGoBackNIsNoOtherScheme(t *testing.T) {
	for recovery, broken := range map[string]string{"irn": "IRN-SACK-001", "gb1": "GB1-RACK-001",
		"fasr": "FASR-PLC-001", "srn": "SRN-PLC-001"} {
		impl, caps := gbn.Implementation(), contract.Capabilities{Recovery: recovery}
		impl.Name, impl.Recover, impl.Features = "liar", recovery, caps.Declared()
		spec := parse(t, "seed 3\nlink rate=100M delay=5ms\nloss random p=2e-2\nload write msg=64B count=200\n")
		o, err := judging.Simulate(context.Background(), spec, impl, rules.All())
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := o.ByRule()[broken]; !ok || v.Status != rule.Fail {
			t.Errorf("%s: %s is %v (%s)", recovery, broken, v.Status, v.Reason)
		}
	}
}
