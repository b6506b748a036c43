package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	brokengbn "github.com/rdma-gauntlet/gauntlet/impls/broken/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// late is a bench whose first bad runs have a link that is not as in the Spec, and end with err.
type late struct {
	sim.Bench
	bad  int
	runs *int
	err  error
}

// Run implements bench.Bench.
func (b late) Run(ctx context.Context, job *bench.Job) (*bench.Evidence, error) {
	*b.runs++
	ev, err := b.Bench.Run(ctx, job)
	if *b.runs <= b.bad {
		ev.Certificates = append(ev.Certificates, certify.Certificate{When: "during", Reason: "late"})
		err = errors.Join(err, b.err)
	}
	return ev, err
}

func TestAttempts(t *testing.T) {
	for _, c := range []struct {
		name, bench string
		bad, most   int
		status      string
		runs        int
	}{
		{"valid at once", "netns", 0, 3, "PASS", 1},
		{"valid at last", "netns", 2, 3, "PASS", 3},
		{"never valid", "netns", 9, 3, "INVALID", 3},
		{"once only", "netns", 1, 1, "INVALID", 1},
		{"virtual time", "sim", 1, 3, "INVALID", 1},
	} {
		runs, heard := 0, []int(nil)
		o := options(t, lossy)
		o.Bench, o.Name = late{bad: c.bad, runs: &runs}, c.bench
		r, err := Attempts(t.Context(), o, c.most, func(attempt int, r *model.Result) {
			heard = append(heard, attempt)
		})
		must(t, err)
		if r.Status != c.status || runs != c.runs || len(r.Earlier) != c.runs-1 || len(heard) != c.runs-1 ||
			r.Folder != AttemptFolder(o.Folder, c.runs) {
			t.Errorf("%s: %s after %d runs, in %s, earlier %+v, heard of %v", c.name, r.Status, runs,
				r.Folder, r.Earlier, heard)
		}
		for i, a := range r.Earlier {
			want := model.Attempt{Folder: AttemptFolder(o.Folder, i+1), Status: "INVALID",
				Reason: "link certificate during the run: late"}
			if d := cmp.Diff(want, a); d != "" {
				t.Errorf("%s: %s", c.name, d)
			}
			if !slices.ContainsFunc(r.Warnings, func(w string) bool {
				return strings.Contains(w, "INVALID, in "+a.Folder+": ")
			}) {
				t.Errorf("%s: warnings %q do not name %s", c.name, r.Warnings, a.Folder)
			}
		}
		folders, _ := filepath.Glob(filepath.Join(filepath.Dir(o.Folder), "*", "result.json"))
		if len(folders) != c.runs {
			t.Errorf("%s: %v", c.name, folders)
		}
		if text, err := os.ReadFile(filepath.Join(r.Folder, "result.json")); err != nil || strings.Count(string(text),
			`"status": "INVALID"`) < len(r.Earlier) {
			t.Errorf("%s: result.json does not name the attempts before it: %v", c.name, err)
		}
	}
}

// TestFaultOverABadLinkIsRepeated: a run whose end was not done in time is repeated when the link may be the cause.
func TestFaultOverABadLinkIsRepeated(t *testing.T) {
	runs := 0
	o := options(t, lossy)
	o.Bench, o.Name = late{bad: 1, runs: &runs, err: &bench.Fault{Program: "gbn", Err: errors.New("not done")}}, "netns"
	r, err := Attempts(t.Context(), o, 3, func(int, *model.Result) {})
	must(t, err)
	if r.Status != "PASS" || runs != 2 {
		t.Errorf("%s %q after %d runs; want PASS after 2", r.Status, r.Reason, runs)
	}
}

// TestFailureOverABadLinkIsNotRepeated: the first run of an engine that breaks rules which do not rest on the link is
// kept.
func TestFailureOverABadLinkIsNotRepeated(t *testing.T) {
	runs := 0
	o := options(t, lossy)
	o.Bench, o.Name, o.Folder = late{bad: 9, runs: &runs}, "netns", filepath.Join(t.TempDir(), "run")
	for _, v := range brokengbn.Family().Variants {
		if slices.Contains(v.Catches, "WIRE-ICRC-001") {
			o.Impls = [2]engine.Implementation{v.Impl, v.Impl}
		}
	}
	r, err := Attempts(t.Context(), o, 3, func(int, *model.Result) { t.Error("it is made again") })
	must(t, err)
	if r.Status != "FAIL" || r.Validity != validity.Invalid || r.Doubt != "during the run: late" || runs != 1 ||
		ExitCode(r) != 1 {
		t.Errorf("%s, %+v after %d runs, exit code %d", r.Status, r.State, runs, ExitCode(r))
	}
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; v.Status == rule.Fail && v.Rests != validity.Frames {
			t.Errorf("%s stands and rests on %v", v.Rule, v.Rests)
		}
	}
	text, err := os.ReadFile(filepath.Join(r.Folder, "result.json"))
	for _, want := range []string{`"status": "FAIL"`, `"validity": "INVALID"`,
		`"validity_reason": "during the run: late"`, `"rests_on": "frames"`} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("result.json has no %s: %v", want, err)
		}
	}
}

// TestJudgedAgain: the verdicts of a run over a bad link agree with those of its run folder, which has the
// certificates.
func TestJudgedAgain(t *testing.T) {
	runs := 0
	o := options(t, lossy)
	o.Bench, o.Name = late{bad: 1, runs: &runs}, "netns"
	r, err := Execute(t.Context(), o)
	must(t, err)
	for _, path := range []string{r.Folder, filepath.Join(r.Folder, "trace.ndjson")} {
		again, err := Judge(t.Context(), JudgeOptions{Path: path, Rules: o.Rules,
			Schemes: map[string]engine.Implementation{"gbn": gbn.Implementation()}})
		must(t, err)
		if again.Status != "INVALID" || again.Reason != r.Reason || again.State != r.State {
			t.Errorf("%s: %s, %q, %+v; the run was %s, %q, %+v", path, again.Status, again.Reason, again.State,
				r.Status, r.Reason, r.State)
		}
		for i := range r.Verdicts {
			// the file may have no frames
			if v, was := &again.Verdicts[i], &r.Verdicts[i]; v.Status != was.Status && v.Status != rule.Inconclusive {
				t.Errorf("%s: %s is %s, and was %s in the run", path, v.Rule, v.Status, was.Status)
			}
		}
	}
}

func TestOnlyInvalidIsRepeated(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		status string
		err    error
		want   int
	}{
		{"FAIL", t.Context(), "FAIL", nil, 1},
		{"ERROR", t.Context(), "ERROR", errors.New("broke"), 1},
		{"INVALID", t.Context(), "INVALID", nil, 4},
		{"interrupted", ended, "INVALID", nil, 1},
	} {
		runs := 0
		r, err := Repeat(c.ctx, 4, func(try Try) (*model.Result, error) {
			runs++
			if try.Number != runs {
				t.Errorf("%s: attempt %d is number %d", c.name, runs, try.Number)
			}
			return &model.Result{Bench: "netns", Status: c.status}, c.err
		})
		if runs != c.want || !errors.Is(err, c.err) || r.Status != c.status {
			t.Errorf("%s: %d runs, want %d; %v, %v", c.name, runs, c.want, r.Status, err)
		}
	}
}

// A run for which the machine was late is repeated with twice its dilation, and the last attempt has four times the
// dilation before, where the bench may choose the dilation. After any other run the dilation is the same.
func TestLateRunsAreSlower(t *testing.T) {
	late := certify.Item{Name: "endpoint A waited", Property: validity.Lateness}
	lost := certify.Item{Name: "A>B loss", Property: validity.Loss}
	for _, c := range []struct {
		name    string
		dilated int
		chosen  bool
		failed  certify.Item
		want    []vtime.Dilation
	}{
		{"late", 1, true, late, []vtime.Dilation{0, 2, 8}},
		{"late at 8", 8, true, late, []vtime.Dilation{0, 16, 64}},
		{"late at the end of the range", 1024, true, late, []vtime.Dilation{0, 1024, 1024}},
		{"late as asked for", 8, false, late, []vtime.Dilation{0, 0, 0}},
		{"unlucky", 8, true, lost, []vtime.Dilation{0, 0, 0}},
	} {
		var least []vtime.Dilation
		_, err := Repeat(t.Context(), 3, func(try Try) (*model.Result, error) {
			least = append(least, try.Least)
			return &model.Result{Bench: "netns", Status: "INVALID", Dilated: max(c.dilated, int(try.Least)),
				Stretches:    c.chosen,
				Certificates: []certify.Certificate{certify.Issue("during", []certify.Item{{OK: true}, c.failed})}}, nil
		})
		if err != nil || !slices.Equal(least, c.want) {
			t.Errorf("%s: %v, want %v; %v", c.name, least, c.want, err)
		}
	}
}
