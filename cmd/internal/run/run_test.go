package run

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/gobackone"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustSpec(t *testing.T, text string) *scenario.Spec {
	t.Helper()
	s, err := scenario.Parse(strings.NewReader(text))
	must(t, err)
	return s
}

func gbnTwice() [2]engine.Implementation {
	return [2]engine.Implementation{gbn.Implementation(), gbn.Implementation()}
}

const lossy = "seed 3\nlink rate=100M delay=5ms queue=1000\nloss random p=1e-2\nload write msg=64KiB count=20\n"

func options(t *testing.T, text string) Options {
	return Options{Spec: mustSpec(t, text), Bench: sim.Bench{}, Name: "sim", Impls: gbnTwice(), Rules: rules.All(),
		Folder: filepath.Join(t.TempDir(), "r")}
}

func execute(t *testing.T, o Options) *model.Result {
	t.Helper()
	r, err := Execute(t.Context(), o)
	must(t, err)
	return r
}

// statuses returns the statuses of the verdicts by rule ID.
func statuses(verdicts []rule.Verdict) map[string]string {
	out := map[string]string{}
	for _, v := range verdicts {
		out[v.Rule] = v.Status.String()
	}
	return out
}

func TestExecute(t *testing.T) {
	o := options(t, lossy)
	r := execute(t, o)
	if r.Status != "PASS" || r.Messages != 20 || r.GoodputBps <= 0 || r.Lost == 0 || r.Wall <= 0 {
		t.Errorf("%s %s, %d messages, %g b/s, %d lost", r.Status, r.Reason, r.Messages, r.GoodputBps, r.Lost)
	}
	var stored model.Result
	raw, err := os.ReadFile(filepath.Join(o.Folder, "result.json"))
	must(t, err)
	must(t, json.Unmarshal(raw, &stored))
	if d := cmp.Diff(r.Summary, stored.Summary); d != "" || stored.Status != r.Status {
		t.Errorf("result.json: %s\n%s", stored.Status, d)
	}
	spec, err := os.ReadFile(filepath.Join(o.Folder, "spec.txt"))
	must(t, err)
	if string(spec) != o.Spec.String() {
		t.Errorf("spec.txt:\n%s", spec)
	}
	if _, err := Execute(t.Context(), o); err == nil || !strings.Contains(err.Error(), "already holds a result") {
		t.Errorf("into the same folder: %v", err)
	}
}

// The folder and the trace of a run are judged like the run itself, any number of times.
func TestJudgeAgreesWithTheRun(t *testing.T) {
	o := options(t, lossy)
	r := execute(t, o)
	for _, path := range []string{o.Folder, filepath.Join(o.Folder, "trace.ndjson")} {
		again := judgeFolder(t, path)
		want, got := statuses(r.Verdicts), statuses(again.Verdicts)
		for id, status := range got {
			if want[id] != status && status != "INCONCLUSIVE" { // NDJSON has no bytes
				t.Errorf("%s: %s is %s, was %s", filepath.Base(path), id, status, want[id])
			}
		}
		if d := cmp.Diff(r.Summary, again.Summary); d != "" || again.Status != r.Status || again.Impl != r.Impl {
			t.Errorf("%s: %s\n%s", filepath.Base(path), again.Status, d)
		}
	}
}

// The trace of a program is judged by the scheme that the program declared, although its name says none.
func TestJudgeOfAProgram(t *testing.T) {
	o := options(t, lossy)
	o.Impls = [2]engine.Implementation{gobackone.Implementation(), gobackone.Implementation()}
	o.Spec.Impl = [2]string{"gobackone", "gobackone"}
	want := statuses(execute(t, o).Verdicts)
	raw, err := os.ReadFile(filepath.Join(o.Folder, recording.NDJSONName))
	must(t, err)
	for declares, ok := range map[string]bool{"rc gb1 sr extension dilate": true, "": false} {
		text := strings.NewReplacer(`"impl":"gobackone"`, `"impl":"exec:/program"`, `"gauntlet":"trace",`,
			`"gauntlet":"trace","declares":["`+declares+`","`+declares+`"],`).Replace(string(raw))
		path := filepath.Join(t.TempDir(), "program.ndjson")
		must(t, os.WriteFile(path, []byte(text), 0o644))
		r := judgeFolder(t, path)
		if (len(failed(r)) == 0) != ok {
			t.Errorf("declares %q: %v fail", declares, failed(r))
		}
		if got := statuses(r.Verdicts)["GB1-RACK-001"]; ok && got != want["GB1-RACK-001"] {
			t.Errorf("GB1-RACK-001 is %s, was %s", got, want["GB1-RACK-001"])
		}
	}
}

// A run gives the same result without a folder, and without bytes.
func TestResultDoesNotDependOnHowItIsKept(t *testing.T) {
	want := execute(t, options(t, lossy))
	for name, change := range map[string]func(*Options){
		"no folder": func(o *Options) { o.Folder = "" },
		"no bytes":  func(o *Options) { o.Codec = CodecOff },
		"no trace":  func(o *Options) { o.Store = 1 },
	} {
		o := options(t, lossy)
		change(&o)
		r := execute(t, o)
		if d := cmp.Diff(want.Summary, r.Summary); d != "" || r.Status != want.Status {
			t.Errorf("%s: %s\n%s", name, r.Status, d)
		}
	}
}

// A cut trace is reported as such, and the judge does not take the missing part for silence.
func TestStoreLimit(t *testing.T) {
	for _, limit := range []int{1, 100, 1000, 1600} {
		o := options(t, lossy)
		o.Store = limit
		r := execute(t, o)
		if len(r.Notes) == 0 || !strings.Contains(r.Notes[len(r.Notes)-1], "trace.ndjson holds the first ") {
			t.Errorf("notes: %q", r.Notes)
		}
		again := judgeFolder(t, o.Folder)
		want := "PASS"
		if again.Work.Done == 0 {
			want = "INCONCLUSIVE" // no work was done in the remaining trace
		}
		if again.Packets > int64(limit) || again.Status != want {
			t.Errorf("of %d: %s with %d packets, %v", limit, again.Status, again.Packets, failed(again))
		}
	}
}

func TestFailureHasALadder(t *testing.T) {
	o := options(t, lossy)
	o.Rules = append(o.Rules, rule.Rule{ID: "X-X-001", Level: rule.Must, Sees: rule.RequestOut,
		New: func(c *rule.Context) rule.Check {
			return rule.Check{Sight: func(s *rule.Sight) {
				if s.Relation == rule.Again {
					c.Fail(rule.Requester, "sent again")
				}
			}}
		}})
	r := execute(t, o)
	if r.Status != "FAIL" || ExitCode(r) != 1 || len(r.Ladders) != laddersPerRule ||
		!strings.Contains(r.Ladders[0].Text, "<== X-X-001") {
		t.Fatalf("%s, %d ladders", r.Status, len(r.Ladders))
	}
	var b strings.Builder
	must(t, Ladder(t.Context(), &b, LadderOptions{Path: o.Folder, From: 5, Count: 3}))
	if n := strings.Count(b.String(), "WRITE_"); n != 3 {
		t.Errorf("%d packets drawn\n%s", n, b.String())
	}
	for _, bad := range []LadderOptions{{Path: o.Folder}, {Path: o.Folder, Count: ladderMost + 1},
		{Path: o.Folder, Count: 1, Conn: 1}, {Path: "nothing", Count: 1}} {
		if err := Ladder(t.Context(), &b, bad); err == nil {
			t.Errorf("%+v is drawn", bad)
		}
	}
}

// TestFailureIsExplained: each report has the command that explains a rule once, and the HTML report links to the page
// of the rule.
func TestFailureIsExplained(t *testing.T) {
	o := options(t, lossy)
	o.Rules = []rule.Rule{{ID: "X-X-001", Level: rule.Must, Sees: rule.RequestOut,
		New: func(c *rule.Context) rule.Check {
			return rule.Check{Sight: func(s *rule.Sight) { c.Fail(rule.Requester, "sent") }}
		}}}
	o.Explain = func(ids []string) (*model.Rulebook, error) {
		return &model.Rulebook{Families: []model.RuleFamily{{Name: "X", Rules: []model.RuleEntry{{ID: ids[0]}}}}}, nil
	}
	execute(t, o)
	for name, want := range map[string]string{"verdicts.json": `"gauntlet explain X-X-001"`,
		"result.json": `"gauntlet explain X-X-001"`, "junit.xml": "gauntlet explain X-X-001",
		"summary.md": "`gauntlet explain X-X-001`", "report.html": "gauntlet explain X-X-001",
		"rulebook.html": `id="X-X-001"`} {
		text, err := os.ReadFile(filepath.Join(o.Folder, name))
		must(t, err)
		if n := strings.Count(string(text), want); n != 1 {
			t.Errorf("%s has %d times %s", name, n, want)
		}
		if link := `href="./rulebook.html#X-X-001"`; name == "report.html" && !strings.Contains(string(text), link) {
			t.Errorf("%s lacks %s", name, link)
		}
	}
}

// benchFunc is a Bench that runs a function.
type benchFunc func(*bench.Job) (*bench.Evidence, error)

func (f benchFunc) Run(_ context.Context, j *bench.Job) (*bench.Evidence, error) { return f(j) }

// refusing is a Bench whose Check refuses every job.
type refusing struct{ benchFunc }

func (refusing) Check(*bench.Job) error { return errors.New("not on this machine") }

func TestBrokenRuns(t *testing.T) {
	sees := func(j *bench.Job) trace.Sink {
		s, err := j.Open(trace.Header{Taps: [2]bool{true, true}, Conns: make([]trace.Conn, 1)})
		must(t, err)
		s.Packet(&trace.Record{Sent: 1, Recv: 2, Fate: trace.Delivered,
			Packet: roce.Packet{BTH: roce.BTH{Opcode: roce.SendOnly}}})
		return s
	}
	for _, c := range []struct {
		name  string
		bench bench.Bench
		says  string
		files []string
	}{
		{"an error", benchFunc(func(j *bench.Job) (*bench.Evidence, error) {
			sees(j)
			return &bench.Evidence{Notes: []string{"a note"}}, errors.New("the relay died")
		}), "the relay died", []string{"result.json", "trace.ndjson"}},
		{"a panic", benchFunc(func(j *bench.Job) (*bench.Evidence, error) { sees(j); panic("engine: negative bytes") }),
			"run: panic: engine: negative bytes", []string{"panic.txt", "result.json", "trace.ndjson"}},
		{"two errors", benchFunc(func(*bench.Job) (*bench.Evidence, error) {
			return nil, errors.Join(errors.New("one"), errors.New("two"))
		}),
			"one; two", []string{"result.json"}},
		{"not here", refusing{}, "not on this machine", nil},
	} {
		o := options(t, lossy)
		o.Bench = c.bench
		r, err := Execute(t.Context(), o)
		if err == nil || r.Status != "ERROR" || ExitCode(r) != 3 || r.Reason != c.says {
			t.Errorf("%s: %v, %s %q", c.name, err, r.Status, r.Reason)
		}
		for _, name := range c.files {
			if _, err := os.Stat(filepath.Join(o.Folder, name)); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if _, err := os.Stat(o.Folder); c.files == nil && err == nil {
			t.Errorf("%s: the folder was made", c.name)
		}
	}
}

func TestInterrupted(t *testing.T) {
	o := options(t, "link rate=10G delay=1ms queue=9999\nload write msg=1MiB count=0\nrun for=100s\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	o.Progress = func(float64, string) { cancel(errors.New("enough")) }
	r, err := Execute(ctx, o)
	if err == nil || err.Error() != "enough" || r.Status != "ERROR" || r.Packets == 0 {
		t.Errorf("%v, %s, %d packets", err, r.Status, r.Packets)
	}
}

func TestStatus(t *testing.T) {
	verdict := func(s rule.Status, required bool) rule.Verdict { return rule.Verdict{Status: s, Required: required} }
	slow := []certify.Certificate{{Valid: true}, {When: "after", Reason: "slow"}}
	for _, c := range []struct {
		name     string
		verdicts []rule.Verdict
		certs    []certify.Certificate
		err      error
		want     string
		code     int
	}{
		{"nothing", nil, nil, nil, "PASS", 0},
		{"passes", []rule.Verdict{verdict(rule.Pass, true), verdict(rule.Inconclusive, true),
			verdict(rule.NotApplicable, true), verdict(rule.XFail, true)}, nil, nil, "PASS", 0},
		{"a required failure", []rule.Verdict{verdict(rule.Fail, true), verdict(rule.Pass, true)}, nil, nil, "FAIL", 1},
		{"another failure", []rule.Verdict{verdict(rule.Fail, false)}, nil, nil, "PASS", 0},
		{"a waived rule passed", []rule.Verdict{verdict(rule.XPass, true), verdict(rule.Pass, true)},
			nil, nil, "XPASS", 1},
		{"nothing hides a failure", []rule.Verdict{verdict(rule.XPass, true), verdict(rule.Error, true),
			verdict(rule.Fail, true)}, nil, nil, "FAIL", 1},
		{"a rule broke", []rule.Verdict{verdict(rule.Error, true)}, nil, nil, "ERROR", 3},
		{"invalid link", []rule.Verdict{verdict(rule.Invalid, true), verdict(rule.Pass, true)}, slow,
			nil, "INVALID", 3},
		{"invalid link, and nothing rests on it", []rule.Verdict{verdict(rule.Pass, true)}, slow, nil, "INVALID", 3},
		{"a failure beside an invalid link", []rule.Verdict{verdict(rule.Fail, true), verdict(rule.Invalid, true)},
			slow, nil, "FAIL", 1},
		{"broken harness", []rule.Verdict{verdict(rule.Invalid, true)}, []certify.Certificate{{}},
			errors.New("x"), "ERROR", 3},
		{"a failure beside a broken harness", []rule.Verdict{verdict(rule.Fail, true)}, []certify.Certificate{{}},
			errors.New("x"), "FAIL", 1},
	} {
		r := &model.Result{Verdicts: c.verdicts, Certificates: c.certs}
		if settle(r, c.err); r.Status != c.want || ExitCode(r) != c.code {
			t.Errorf("%s: %s, exit code %d; want %s, %d", c.name, r.Status, ExitCode(r), c.want, c.code)
		}
		if c.want == "INVALID" && r.Reason != "link certificate after the run: slow" {
			t.Errorf("reason %q", r.Reason)
		}
		if (r.Validity == validity.Invalid) != (len(c.certs) > 0) || c.certs == nil && r.Validity != "" ||
			len(c.certs) == 2 && r.Doubt != "after the run: slow" {
			t.Errorf("%s: validity %q, %q", c.name, r.Validity, r.Doubt)
		}
	}
}

func TestCodecChoice(t *testing.T) {
	small := "load write msg=1KiB count=10\n"
	large := "link rate=10G delay=1ms queue=9999\nload write msg=1MiB count=0\nrun for=1s\n"
	for _, c := range []struct {
		text  string
		codec Codec
		bytes bool
	}{
		{small, CodecAuto, true}, {small, CodecOff, false}, {large, CodecAuto, false}, {large, CodecOn, true},
		{large + "drop A psn=+1\n", CodecAuto, true}, {"load write msg=1GiB count=1\n", CodecAuto, false},
	} {
		o := Options{Spec: mustSpec(t, c.text), Codec: c.codec}
		if got := o.codec(); got != c.bytes {
			t.Errorf("%q, codec %s: bytes %v", c.text, c.codec, got)
		}
	}
	boxed := engine.Implementation{NewBox: func(engine.BoxConfig) (engine.Middlebox, error) { return nil, nil }}
	for _, c := range []struct {
		text string
		impl engine.Implementation
		want float64
	}{
		{text: "qp count=3 mtu=256\nload write msg=1000 count=10\nload send from=B msg=1 count=5\n", want: 3 * (10*4 + 5)},
		// the window limits
		{text: "link rate=10G delay=20ms\nqp qd=128\nload write msg=4KiB\nrun for=1s\n", want: 26 * 128 * 4},
		// the line rate limits
		{text: "link rate=1106M delay=20ms\nqp qd=128\nload write msg=4MiB\nrun for=1s\n", want: 125_000},
		// a box near A answers, so that the window does not limit
		{"link rate=1106M delay=20ms\nqp qd=2\nload write msg=4KiB\nrun for=1s\n", boxed, 125_000},
		// messages below the MTU make small packets
		{text: "link rate=1G delay=1us\nqp qd=128\nload write msg=168\nrun for=1s\n", want: 500_000},
	} {
		n := ExpectedPackets(mustSpec(t, c.text), [2]engine.Implementation{c.impl, c.impl})
		if math.Abs(n/c.want-1) > 0.03 {
			t.Errorf("%q: %g packets expected, want %g", c.text, n, c.want)
		}
	}
}

// A belt delivers everything in order, and its records do not change when the bench reuses its memory.
func TestBeltKeepsOrderAndBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var direct, carried trace.Collector
	b := newBelt(&carried, nil)
	raw := make([]byte, 100)
	for i := range 5000 {
		if rng.IntN(3) == 0 {
			e := &trace.Event{At: vtime.Time(i), Value: int64(i)}
			direct.Event(e)
			b.Event(e)
			continue
		}
		r := &trace.Record{Sent: vtime.Time(i), Recv: vtime.Never, WireBytes: i}
		for k := range raw {
			raw[k] = byte(i)
		}
		switch rng.IntN(4) {
		case 0:
			r.Raw, r.Packet.Payload = raw, raw[50:60]
		case 1:
			r.Packet.Payload = raw[:0]
		case 2:
			r.Raw, r.Changed = raw[:70], &trace.Change{Raw: raw[:30], Packet: roce.Packet{Payload: raw[3:9]}}
		}
		direct.Packet(r.Clone())
		b.Packet(r)
	}
	b.End(7777)
	must(t, b.Wait())
	if d := cmp.Diff(direct.Events, carried.Events); d != "" {
		t.Error(d)
	}
	if len(direct.Records) != len(carried.Records) {
		t.Fatalf("%d records of %d", len(carried.Records), len(direct.Records))
	}
	for i := range direct.Records {
		a, c := &direct.Records[i], &carried.Records[i]
		if a.Sent != c.Sent || !slices.Equal(a.Raw, c.Raw) || !slices.Equal(a.Packet.Payload, c.Packet.Payload) ||
			(a.Changed == nil) != (c.Changed == nil) ||
			a.Changed != nil && (!slices.Equal(a.Changed.Raw, c.Changed.Raw) || !slices.Equal(a.Changed.Packet.Payload,
				c.Changed.Packet.Payload)) {
			t.Fatalf("record %d: %+v, want %+v", i, c, a)
		}
	}
}

// sinkFunc is a Sink that calls a function for each packet.
type sinkFunc func(*trace.Record)

func (f sinkFunc) Packet(r *trace.Record) { f(r) }
func (f sinkFunc) Event(*trace.Event)     {}
func (f sinkFunc) End(vtime.Time)         {}

func TestBeltReportsAPanic(t *testing.T) {
	seen := 0
	b := newBelt(sinkFunc(func(*trace.Record) {
		if seen++; seen == 3 {
			panic("metrics: no slot")
		}
	}), nil)
	for range 10 * batchRecords * batches {
		b.Packet(&trace.Record{})
	}
	if err := b.Wait(); err == nil || err.Error() != "run: panic: metrics: no slot" || seen != 3 {
		t.Errorf("%v after %d records", err, seen)
	}
}

// Large runs have no bytes, and a record then costs a copy and no allocation.
func TestBeltAllocatesNothing(t *testing.T) {
	b := newBelt(sinkFunc(func(*trace.Record) {}), nil)
	r := &trace.Record{}
	if n := testing.AllocsPerRun(100*batchRecords, func() { b.Packet(r) }); n != 0 {
		t.Errorf("%g allocations per record", n)
	}
	must(t, b.Wait())
}

func BenchmarkBelt(b *testing.B) {
	belt := newBelt(sinkFunc(func(*trace.Record) {}), nil)
	r := &trace.Record{}
	b.ReportAllocs()
	for b.Loop() {
		belt.Packet(r)
	}
	_ = belt.Wait()
}

// A waiver may name a device in its role, in the run and in its judgement later.
func TestDeviceHasRoles(t *testing.T) {
	r := &model.Result{Impl: [2]string{"a", "b"}, Environment: []model.Fact{{Name: "kernel", Value: "6.1"}}}
	d := Device(r)
	if want := []string{"a", "a-requester", "b", "b-responder"}; !slices.Equal(d.Names, want) || d.Kernel != "6.1" {
		t.Errorf("%+v, want %q", d, want)
	}
}
