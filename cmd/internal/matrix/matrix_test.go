package matrix

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/impls/broken"
	brokengbn "github.com/rdma-gauntlet/gauntlet/impls/broken/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/fasr"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// options returns the options of a small matrix in virtual time.
func options(t *testing.T, links ...string) Options {
	t.Helper()
	o := Options{Seed: 3, Bench: sim.Bench{}, Name: "sim", Rules: rules.All(), Jobs: 1,
		More: []string{"load write msg=16KiB count=20"}}
	for _, impl := range []engine.Implementation{gbn.Implementation(), fasr.Implementation()} {
		o.Rows = append(o.Rows, Row{Name: impl.Name, Impls: [2]engine.Implementation{impl, impl}})
	}
	for _, name := range links {
		l, err := FindLink(name)
		if err != nil {
			t.Fatal(err)
		}
		o.Links = append(o.Links, l)
	}
	return o
}

func TestLinksOfTheProgram(t *testing.T) {
	var names []string
	for _, l := range Links() {
		names = append(names, l.Name)
		s, err := Spec(l, []string{"seed 9"})
		switch {
		case err != nil:
			t.Errorf("%s: %v", l.Name, err)
		case l.Title == "":
			t.Errorf("%s has no title", l.Name)
		case s.Seed != 9 || len(s.Loads) != 1 || len(s.Warnings()) > 0:
			t.Errorf("%s: seed %d, %d loads, warnings %q", l.Name, s.Seed, len(s.Loads), s.Warnings())
		}
	}
	if want := "clean ack-loss asymmetric burst jitter random"; strings.Join(names, " ") != want {
		t.Errorf("links %v, want %s", names, want)
	}
}

// The statements of a link come last: they may change the workload, the timer and the queue.
func TestLinkOverridesAll(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.txt")
	text := "# Mine.\nlink rate=1G queue=7\n# not the title\nqp rto=3ms\nload send msg=4KiB count=5\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := FindLink(file)
	if err != nil || l.Name != "mine" || l.Title != "Mine." {
		t.Fatal(l, err)
	}
	s, err := Spec(l, []string{"link rate=10G delay=20ms", "load write msg=1MiB count=2"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Link.AB.Queue != 7 || s.Link.AB.Rate != 1e9 || len(s.Loads) != 1 || s.Loads[0].Count != 5 ||
		s.QP[0].TransportTimer().Std().Milliseconds() != 3 {
		t.Errorf("%s", s)
	}
	if s, err = Spec(Links()[0], []string{"link rate=10G delay=20ms"}); err != nil || len(s.Warnings()) > 0 {
		t.Errorf("a link that is fitted to more: %v, warnings %q", err, s.Warnings())
	}
}

func TestBadLinks(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.txt")
	bad := filepath.Join(dir, "bad.txt")
	if err := os.WriteFile(big, make([]byte, mostLink+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bad, []byte("loss maybe\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"nope": "known: clean", dir + "/none.txt": "no such file", big: "at most",
		dir + "/": "want a file", bad: "link bad: "} {
		if _, err := FindLink(name); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q in one line", name, err, want)
		}
	}
}

// The number of parallel cells changes neither results nor their order.
func TestJobsChangeNothing(t *testing.T) {
	serial := Run(t.Context(), options(t, "clean", "burst", "random"))
	o := options(t, "clean", "burst", "random")
	o.Jobs = 4
	parallel := Run(t.Context(), o)
	ignore := []cmp.Option{cmpopts.IgnoreFields(model.Matrix{}, "Wall", "Started"),
		cmpopts.IgnoreFields(model.Cell{}, "Wall")}
	if d := cmp.Diff(serial, parallel, ignore...); d != "" {
		t.Errorf("(-one at a time +four at a time)\n%s", d)
	}
	if serial.Status != "PASS" || len(serial.Cells) != 6 || serial.Cell("fasr", "random").Lost == 0 {
		t.Errorf("%s, %d cells", serial.Status, len(serial.Cells))
	}
	if a, b := serial.Cell("gbn", "random"), serial.Cell("fasr", "random"); a.Retransmitted <= b.Retransmitted {
		t.Errorf("go-back-N sent %d again, FaSR %d: not what the schemes are about", a.Retransmitted, b.Retransmitted)
	}
}

// The folder of a cell can be judged again, with the same result.
func TestFoldersCanBeJudgedAgain(t *testing.T) {
	o := options(t, "random")
	o.Folder = t.TempDir()
	m := Run(t.Context(), o)
	for i := range m.Cells {
		c := &m.Cells[i]
		impl, _ := all.Find(c.Impl)
		r, err := run.Judge(t.Context(), run.JudgeOptions{Path: c.Folder, Rules: rules.All(),
			Schemes: map[string]engine.Implementation{c.Impl: impl}})
		if err != nil || r.Status != c.Status {
			t.Errorf("%s over %s: %v, %+v; was %s", c.Impl, c.Link, err, r, c.Status)
		}
		if want := filepath.Join(o.Folder, c.Impl, c.Link); c.Folder != want || c.Again != "gauntlet run "+
			filepath.Join(want, "spec.txt")+" --bench sim" {
			t.Errorf("folder %s, again %q", c.Folder, c.Again)
		}
	}
}

// unstable is a bench whose link is INVALID in its first bad runs.
type unstable struct {
	sim.Bench
	bad  int
	runs *int
}

func (b unstable) Run(ctx context.Context, job *bench.Job) (*bench.Evidence, error) {
	*b.runs++
	ev, err := b.Bench.Run(ctx, job)
	if *b.runs <= b.bad {
		ev.Certificates = append(ev.Certificates, certify.Certificate{When: "during", Reason: "late"})
	}
	return ev, err
}

func TestInvalidRunsAreRepeatedAndNeverHidden(t *testing.T) {
	for _, c := range []struct {
		bad, attempts int
		want          string
		runs          int
	}{{0, 3, "PASS", 1}, {2, 3, "PASS", 3}, {9, 3, "INVALID", 3}, {1, 0, "INVALID", 1}} {
		o := options(t, "clean")
		runs := 0
		o.Rows, o.Bench, o.Name, o.Attempts, o.Folder = o.Rows[:1], unstable{bad: c.bad, runs: &runs}, "netns",
			c.attempts, t.TempDir()
		m := Run(t.Context(), o)
		if got := m.Cells[0]; got.Status != c.want || runs != c.runs || got.Attempts != c.runs || m.Status != c.want ||
			(c.want == "PASS") != (got.Reason == "") {
			t.Errorf("%+v: %s after %d runs (%d), reason %q", c, got.Status, runs, got.Attempts, got.Reason)
		}
		if folders, _ := filepath.Glob(filepath.Join(
			o.Folder, "gbn", "clean*", "result.json")); len(folders) != c.runs {
			t.Errorf("%+v: folders %v", c, folders)
		}
	}
}

func TestInterruptedCellsAreErrors(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := options(t, "clean", "random")
	o.Done = func(*model.Cell) { cancel() }
	m := Run(ctx, o)
	if m.Status != "ERROR" || m.Cells[0].Status != "PASS" || m.Cells[3].Status != "ERROR" ||
		m.Cells[3].Reason != "interrupted" {
		t.Errorf("%s: %+v", m.Status, m.Cells)
	}
}

// A parameter is for the implementation that it names; Check returns the parameters that an implementation rejects.
func TestParametersAndCheck(t *testing.T) {
	o := options(t, "clean")
	o.Params = map[string][]string{"fasr": {"window=64"}}
	if err := o.Check(); err != nil {
		t.Error(err)
	}
	s, err := o.spec(&o.Rows[1], o.Links[0])
	if err != nil || s.Params["window"] != "64" {
		t.Error(s.Params, err)
	}
	if s, err = o.spec(&o.Rows[0], o.Links[0]); err != nil || len(s.Params) != 0 {
		t.Error(s.Params, err)
	}
	for _, bad := range []Options{{Params: map[string][]string{"gbn": {"window=64"}}}, {More: []string{"link rate=?"}},
		{More: []string{"qp mtu=100"}}} {
		o := options(t, "clean")
		o.Params, o.More = bad.Params, append(o.More, bad.More...)
		if o.Check() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// A broken engine is killed by the rules that it names; a correct engine under its name is reported as a survivor.
func TestHunt(t *testing.T) {
	f := brokengbn.Family()
	v := f.Variants[0]
	wrong := Broken{Family: "gbn", Name: v.Name, Breaks: v.Breaks, Catches: v.Catches, Scenarios: v.Scenarios,
		Stimulus: f.Stimulus, Impl: v.Impl, Right: v.Right}
	innocent, nowhere := wrong, wrong
	innocent.Name, innocent.Impl = "innocent", v.Right
	nowhere.Name, nowhere.Scenarios = "nowhere", []string{"no-such-scenario"}
	o := options(t)
	o.Jobs = 2
	kills := Hunt(t.Context(), o, []Broken{wrong, innocent, nowhere})
	for i, want := range []string{"FAIL", "PASS", "ERROR"} {
		k := &kills[i]
		if k.Status != want || k.Killed() != (i == 0) || (len(k.Missed) == 0) != (i == 0) ||
			(k.Reason != "") != (i == 2) {
			t.Errorf("%+v, want %s", k, want)
		}
	}
	if !slices.Equal(kills[0].Caught, v.Catches) {
		t.Errorf("caught by %v, want %v", kills[0].Caught, v.Catches)
	}
}

// A pair that can work together passes in its cell, one that lacks something in common is NOT-APPLICABLE, and one that
// cannot run does not affect the others.
func TestPeers(t *testing.T) {
	o := options(t, "random")
	ends := append(o.Rows, Row{Name: "exec:./x", Folder: "exec-x", Broken: errors.New("contract: it said\nnothing")})
	o.Peers, o.Folder = []string{"gbn", "fasr", "exec:./x"}, t.TempDir()
	o.Rows = Peers(ends, func(a, b *engine.Implementation) string {
		if a.Name == "fasr" && b.Name == "fasr" {
			return "not today"
		}
		return ""
	})
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	m := Run(t.Context(), o)
	for pair, want := range map[[2]string]string{
		{"gbn", "gbn"}:  "PASS ",
		{"gbn", "fasr"}: "PASS recovery gbn of the requester meets fasr of the responder",
		{"fasr", "gbn"}: "NOT-APPLICABLE recovery fasr of the requester meets gbn of the responder: 0 of " +
			"20 messages completed",
		{"fasr", "fasr"}:     "NOT-APPLICABLE not today",
		{"exec:./x", "gbn"}:  "ERROR contract: it said; nothing",
		{"fasr", "exec:./x"}: "ERROR contract: it said; nothing",
	} {
		if c := m.Met(pair[0], pair[1], "random"); c == nil || c.Status+" "+c.Reason != want {
			t.Errorf("%v: %+v, want %q", pair, c, want)
		}
	}
	if m.Status != "ERROR" || len(m.Cells) != 9 {
		t.Errorf("%s, %d cells", m.Status, len(m.Cells))
	}
}

// A parameter that only one of two implementations has makes their pair NOT-APPLICABLE, and not the pair of that one
// with itself.
func TestParametersOfPeers(t *testing.T) {
	o := options(t, "clean")
	o.Params = map[string][]string{"fasr": {"window=64"}}
	o.Peers, o.Rows = []string{"gbn", "fasr"}, Peers(o.Rows, func(_, _ *engine.Implementation) string { return "" })
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	m := Run(t.Context(), o)
	if c := m.Met("gbn", "fasr", "clean"); c.Status != "NOT-APPLICABLE" || !strings.Contains(c.Reason,
		"parameter window is not known") || m.Met("fasr", "fasr", "clean").Status != "PASS" || m.Status != "PASS" {
		t.Errorf("%s, %s %s", m.Status, c.Status, c.Reason)
	}
	o.Params = map[string][]string{"fasr": {"nope=64"}}
	if o.Check() == nil {
		t.Error("a parameter that nobody has is accepted")
	}
}

// A pair of one implementation that breaks no rule and completes nothing is INCONCLUSIVE.
func TestPeersThatDoNothing(t *testing.T) {
	o := options(t, "clean")
	o.Rows = Peers(o.Rows[:1], func(_, _ *engine.Implementation) string { return "" })
	o.More = append(o.More, "loss random p=100%", "qp retry=1")
	if c := Run(t.Context(), o).Cells[0]; c.Status != "INCONCLUSIVE" ||
		c.Reason != "no rule was broken, but 0 of 20 messages completed" {
		t.Errorf("%s %s", c.Status, c.Reason)
	}
	o.Lacks = func(*scenario.Spec) string { return "gbn does not declare operation WRITE" }
	if c := Run(t.Context(), o).Cells[0]; c.Status != "NOT-APPLICABLE" || c.Attempts != 0 ||
		c.Reason != "gbn does not declare operation WRITE" {
		t.Errorf("%s %s", c.Status, c.Reason)
	}
}

// A waiver for a role applies where its implementation has that role, and nowhere else.
func TestWaiversOfARole(t *testing.T) {
	v := brokengbn.Family().Variants[slices.IndexFunc(brokengbn.Family().Variants, func(v broken.Variant) bool {
		return v.Name == "nak-always"
	})]
	faulty := v.Impl
	faulty.Name = "faulty"
	right := gbn.Implementation()
	o := options(t, "random")
	o.Waivers = []waivers.Waiver{
		{Rule: "GBN-*", Impl: "faulty-responder", Reason: "known", Owner: "us", Expires: "9999-12-31"},
		{Rule: "GBN-*", Impl: "gbn", In: "some-scenario", Reason: "known", Owner: "us", Expires: "9999-12-31"},
	}
	o.Rows = []Row{{Name: "as responder", Impls: [2]engine.Implementation{right, faulty}},
		{Name: "both", Impls: [2]engine.Implementation{faulty, faulty}}}
	for _, c := range Run(t.Context(), o).Cells {
		if c.Status != "PASS" || !slices.Contains(c.Verdicts, model.Fact{Name: "XFAIL", Value: "1"}) {
			t.Errorf("%s: %s, broken %v, %v; want a waived failure", c.Impl, c.Status, c.Broken, c.Verdicts)
		}
	}
	o.Waivers[0].Impl = "faulty-requester"
	if c := Run(t.Context(), o).Cells[0]; c.Status != "FAIL" {
		t.Errorf("%s: %s, though the waiver is for another role", c.Impl, c.Status)
	}
}

// Place chooses the Spec and the bench of a cell; a cell for which it returns an error has no run and shows the error.
func TestPlace(t *testing.T) {
	o := options(t, "clean")
	o.Place = func(s *scenario.Spec, impls [2]engine.Implementation) (*scenario.Spec, bench.Bench, error) {
		if impls[0].Name == "fasr" {
			return nil, nil, fmt.Errorf("%w: no tool does that", bench.ErrUnsupported)
		}
		placed := *s
		placed.Loads = slices.Clone(s.Loads)
		placed.Loads[0].Count = 7
		return &placed, sim.Bench{}, nil
	}
	o.Bench = nil
	m := Run(t.Context(), o)
	if c := m.Cell("gbn", "clean"); c.Status != "PASS" || c.Messages != 7 {
		t.Errorf("%s %s, %d messages", c.Status, c.Reason, c.Messages)
	}
	if c := m.Cell("fasr", "clean"); c.Status != "NOT-APPLICABLE" || c.Attempts != 0 ||
		!strings.Contains(c.Reason, "no tool does that") {
		t.Errorf("%s %s, %d attempts", c.Status, c.Reason, c.Attempts)
	}
}
