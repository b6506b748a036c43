package run

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// strict fails every retransmission.
var strict = rule.Rule{ID: "X-X-002", Level: rule.Must, Sees: rule.RequestOut, New: func(c *rule.Context) rule.Check {
	return rule.Check{Sight: func(s *rule.Sight) {
		if s.Relation == rule.Again {
			c.Fail(rule.Requester, "sent again")
		}
	}}
}}

// A run that did not end is never a PASS, whatever is left of its trace, and the rules that it broke before stay
// broken.
func TestRunsThatDidNotEnd(t *testing.T) {
	cut := func(name string, keep float64) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			text, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(path, text[:int(keep*float64(len(text)))], 0o644))
		}
	}
	gone := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, name))) }
	}
	killed := gone("result.json")
	replaced := func(old, new string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, "result.json")
			text, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(path, bytes.Replace(text, []byte(old), []byte(new), 1), 0o644))
		}
	}
	o := options(t, lossy)
	execute(t, o)
	for _, c := range []struct {
		name    string
		harm    []func(*testing.T, string)
		says    string
		packets bool // there are packets to judge
		whole   bool // the trace is complete
	}{
		{"killed", []func(*testing.T, string){killed}, "the run was killed before it ended", true, false},
		{"killed, and the trace cut", []func(*testing.T, string){killed, cut("trace.ndjson", 0.5)},
			"the run was killed before it ended", true, false},
		{"killed before the trace", []func(*testing.T, string){killed, gone("trace.ndjson")},
			"the run was killed before it ended", false, false},
		{"killed with an empty trace", []func(*testing.T, string){killed, cut("trace.ndjson", 0)},
			"the run was killed before it ended", false, false},
		{"the trace cut", []func(*testing.T, string){cut("trace.ndjson", 0.7)}, "its trace is cut short", true, false},
		{"half a result", []func(*testing.T, string){cut("result.json", 0.5)}, "result.json is cut short", true, false},
		{"interrupted", []func(*testing.T, string){replaced(`"status": "PASS"`,
			`"status": "ERROR", "reason": "interrupt"`)}, "the run broke before it ended: interrupt", true, true},
	} {
		folder := filepath.Join(t.TempDir(), "run")
		must(t, os.CopyFS(folder, os.DirFS(o.Folder)))
		for _, harm := range c.harm {
			harm(t, folder)
		}
		r := judgeFolder(t, folder)
		if r.Status != model.Incomplete || ExitCode(r) != 3 || !strings.Contains(r.Reason, c.says) ||
			(r.Packets > 0) != c.packets {
			t.Errorf("%s: %s %q, exit code %d, %d packets; want %q", c.name, r.Status, r.Reason, ExitCode(r),
				r.Packets, c.says)
		}
		again, err := Judge(t.Context(), JudgeOptions{Path: folder, Rules: []rule.Rule{strict}})
		if must(t, err); c.packets && (again.Status != "FAIL" || ExitCode(again) != 1 ||
			!strings.HasPrefix(again.Reason, "INCOMPLETE: ") || len(again.Ladders) == 0) {
			t.Errorf("%s: what is broken is %s %q, %d ladders", c.name, again.Status, again.Reason, len(again.Ladders))
		}
		var drawn bytes.Buffer
		err = Ladder(t.Context(), &drawn, LadderOptions{Path: folder, Count: 5})
		if (err == nil) != c.whole || err != nil && !strings.HasPrefix(err.Error(), "INCOMPLETE: ") ||
			(drawn.Len() > 0) != c.packets {
			t.Errorf("%s: ladder of %d bytes, %v", c.name, drawn.Len(), err)
		}
		if _, err = Sheets(t.Context(), nil, folder); (err == nil) != c.whole || err != nil &&
			!strings.HasPrefix(err.Error(), "INCOMPLETE: ") {
			t.Errorf("%s: datasheet: %v", c.name, err)
		}
	}
}

// No rule fails because the trace of a correct run is cut, at any place.
func TestNoRuleFailsAtACut(t *testing.T) {
	o := options(t, lossy)
	execute(t, o)
	must(t, os.Remove(filepath.Join(o.Folder, "result.json")))
	path := filepath.Join(o.Folder, "trace.ndjson")
	whole, err := os.ReadFile(path)
	must(t, err)
	const cuts = 23
	for i := 1; i < cuts; i++ {
		must(t, os.WriteFile(path, whole[:i*len(whole)/cuts], 0o644))
		if r := judgeFolder(t, o.Folder); r.Status != model.Incomplete {
			t.Errorf("cut at %d of %d: %s %v", i, cuts, r.Status, failed(r))
		}
	}
}

// The paths that belong to a run folder, and other paths.
func TestRunFolderOfAPath(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "spec.txt"), nil, 0o644))
	for path, want := range map[string]string{dir: dir, dir + "/": dir, dir + "/trace.ndjson": dir, dir + "/taps": dir,
		dir + "/taps/A.pcapng": dir,
		dir + "/other.pcapng":  "", filepath.Dir(dir): "", "-": ""} {
		if got := runFolder(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// A run that an end stopped is a FAIL and no error, also when its folder is judged. A failure of the harness takes
// precedence.
func TestFaultOfAnEnd(t *testing.T) {
	crash := &bench.Fault{Side: trace.B, Program: "exec:./mine",
		Err: errors.New("netns: endpoint B (exec:./mine) ended in the middle of the run")}
	o := options(t, lossy)
	o.Bench = benchFunc(func(j *bench.Job) (*bench.Evidence, error) {
		h := trace.Header{Taps: [2]bool{true, true}, Conns: make([]trace.Conn, 1)}
		s, err := j.Open(h)
		must(t, err)
		s.End(vtime.Time(vtime.Second))
		return &bench.Evidence{}, crash
	})
	want := model.Fault{Side: "B", Program: "exec:./mine", What: crash.Error()}
	r := execute(t, o)
	if r.Status != "FAIL" || ExitCode(r) != 1 || r.Reason != crash.Error() || r.Fault == nil || *r.Fault != want {
		t.Errorf("%s %q, %+v", r.Status, r.Reason, r.Fault)
	}
	if again := judgeFolder(t, o.Folder); again.Status != "FAIL" || again.Reason != crash.Error() ||
		again.Fault == nil || *again.Fault != want {
		t.Errorf("judged again: %s %q, %+v", again.Status, again.Reason, again.Fault)
	}
	if s := ForSuite(r); s.Fault != "B" {
		t.Errorf("for the suite: %+v", s)
	}
	o.Folder, o.Bench = "", benchFunc(func(*bench.Job) (*bench.Evidence, error) {
		return nil, errors.New("the relay died")
	})
	if r, err := Execute(t.Context(), o); err == nil || r.Status != "ERROR" || r.Fault != nil {
		t.Errorf("%s, %+v, %v", r.Status, r.Fault, err)
	}
}

// An engine that never finishes is at fault in virtual time.
func TestEngineThatNeverEnds(t *testing.T) {
	o := options(t, "link rate=1M delay=1ms\nload write msg=1MiB count=100\nrun limit=100ms\n")
	r := execute(t, o)
	if f := r.Fault; r.Status != "FAIL" || f == nil || f.Side != "A" || f.Program != gbn.Implementation().Name ||
		r.Packets == 0 || !strings.Contains(r.Reason, "limit reached") {
		t.Errorf("%s %q, %+v, %d packets", r.Status, r.Reason, f, r.Packets)
	}
}
