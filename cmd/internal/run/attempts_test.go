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

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// late is a bench whose first runs have a link that is not what the Spec says.
type late struct {
	sim.Bench
	bad  int
	runs *int
}

// Run implements bench.Bench.
func (b late) Run(ctx context.Context, job *bench.Job) (*bench.Evidence, error) {
	*b.runs++
	ev, err := b.Bench.Run(ctx, job)
	if *b.runs <= b.bad {
		ev.Certificates = append(ev.Certificates, certify.Certificate{When: "during", Reason: "late"})
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
		r, err := Attempts(t.Context(), o, c.most, func(attempt int, r *model.Result) { heard = append(heard, attempt) })
		must(t, err)
		if r.Status != c.status || runs != c.runs || len(r.Earlier) != c.runs-1 || len(heard) != c.runs-1 || r.Folder != AttemptFolder(o.Folder, c.runs) {
			t.Errorf("%s: %s after %d runs, in %s, earlier %+v, heard of %v", c.name, r.Status, runs, r.Folder, r.Earlier, heard)
		}
		for i, a := range r.Earlier {
			want := model.Attempt{Folder: AttemptFolder(o.Folder, i+1), Status: "INVALID", Reason: "link certificate during the run: late"}
			if d := cmp.Diff(want, a); d != "" {
				t.Errorf("%s: %s", c.name, d)
			}
			if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "INVALID, in "+a.Folder+": ") }) {
				t.Errorf("%s: warnings %q do not name %s", c.name, r.Warnings, a.Folder)
			}
		}
		folders, _ := filepath.Glob(filepath.Join(filepath.Dir(o.Folder), "*", "result.json"))
		if len(folders) != c.runs {
			t.Errorf("%s: %v", c.name, folders)
		}
		if text, err := os.ReadFile(filepath.Join(r.Folder, "result.json")); err != nil || strings.Count(string(text), `"status": "INVALID"`) < len(r.Earlier) {
			t.Errorf("%s: result.json does not name the attempts before it: %v", c.name, err)
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
		r, err := Repeat(c.ctx, 4, func(attempt int) (*model.Result, error) {
			runs++
			if attempt != runs {
				t.Errorf("%s: attempt %d is number %d", c.name, runs, attempt)
			}
			return &model.Result{Bench: "netns", Status: c.status}, c.err
		})
		if runs != c.want || !errors.Is(err, c.err) || r.Status != c.status {
			t.Errorf("%s: %d runs, want %d; %v, %v", c.name, runs, c.want, r.Status, err)
		}
	}
}
