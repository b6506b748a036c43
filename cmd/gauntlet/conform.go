package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// conformFlags are the flags of conform.
type conformFlags struct {
	impl, bench, link, out, color string
	dut                           string
	suite                         suite.Options
	peer                          string
	attempts                      int
	known                         catalogue
	list, quiet                   bool
	waivers                       waiverFlag
	waived                        []rule.Waiver
	kernel                        string // of the machine that the scenarios ran on, when they did
	guest                         guestFlags

	views  func(*suite.Outcome) *suite.Outcome          // what counts of a scenario; nil is all
	judged []func(*suite.Outcome)                       // hear of each scenario
	ended  func(impl, scenario string, r *model.Result) // hears of the last run of each, if not nil
}

func conformCommand() *cobra.Command {
	var f conformFlags
	c := &cobra.Command{
		Use:   "conform",
		Short: "Run the conformance scenarios and judge every rule",
		Long: `Run the conformance scenarios against an implementation and judge every rule.

A scenario fails when a required rule is broken, and, of a scheme in which all situations arise (gbn, gobackone, writerecord),
when a rule that it is there for was not exercised. Scenarios are
selected by name (--focus) and by label: impl:NAME, sim, netns or lab, family:GBN, level:must, rule IDs, faults, random.

With --dut rxe the kernel's soft-RoCE is judged in place of an implementation, once as the responder and once as the
requester. It is driven by perftest, ibv_rc_pingpong, ibv_ud_pingpong and rping, with this program as the peer; what no stock
tool does is left out.
With --peer rxe soft-RoCE is at both ends and this program at neither: what is judged are the captures.`,
		Example: `  gauntlet conform --impl gbn
  gauntlet conform --bench netns --label-filter 'family:GBN && !random' --junit conform.xml
  gauntlet conform --label-filter GBN-NAK-002 --out runs/nak
  gauntlet conform --list --focus read
  gauntlet conform --dut rxe --waivers rxe --bench lab --deterministic`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := onBench(c, f.bench); err != nil {
				return usage(err)
			}
			f.guest.carry(append(strings.Split(f.impl, ","), f.peer, f.dut)...)
			if elsewhere(f.bench) && !f.list {
				return f.guest.again(c.Context(), 1, existing(f.waivers.names), given(f.out, f.suite.JUnit, f.suite.JSON))
			}
			return f.execute(c.Context())
		},
	}
	d := c.Flags()
	d.StringVar(&f.impl, "impl", "", "implementations, separated by commas (default: all that the bench can run; see: list impls)")
	d.StringVar(&f.peer, "peer", "", "implementation at B (default: the one at A); exec:PATH is a program of yours, image:NAME one in an image, there and in --impl")
	d.StringVar(&f.dut, "dut", "", "judge a foreign device in place of an implementation: rxe, the kernel's soft-RoCE; needs root, perftest and rdmacm-utils")
	d.StringVar(&f.bench, "bench", "sim", benchHelp)
	d.StringVar(&f.link, "link", "auto", "netns, lab: auto, netem (the kernel's) or relay (user space)")
	d.StringVar(&f.suite.LabelFilter, "label-filter", "", "select by label, such as 'family:NEG || GBN-NAK-001'")
	d.StringArrayVar(&f.suite.Focus, "focus", nil, "select by a regular expression on 'IMPL SCENARIO'; may be repeated")
	d.StringArrayVar(&f.suite.Skip, "skip", nil, "leave out by a regular expression; may be repeated")
	d.StringVar(&f.suite.JUnit, "junit", "", "write a JUnit report to this file")
	d.StringVar(&f.suite.JSON, "json", "", "write a JSON report with all verdicts and findings to this file")
	d.StringVar(&f.out, "out", "", "keep a run folder for each scenario below this one (default: keep none)")
	d.IntVar(&f.attempts, "attempts", attempts, "netns, lab: runs of a scenario until one has a valid link; other outcomes are not repeated")
	f.waivers.define(c)
	d.BoolVar(&f.list, "list", false, "list what would run, and run nothing")
	d.BoolVar(&f.quiet, "quiet", false, "no progress line, and only rules that did not pass in the table")
	d.StringVar(&f.color, "color", "auto", "colours: auto (on a terminal), always or never")
	f.guest.define(c)
	return c
}

// given leaves out the names that are not set.
func given(names ...string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return n == "" })
}

// declarations is what each implementation declares.
func (f *conformFlags) declarations(impls []string) map[string][]string {
	m := map[string][]string{}
	for _, i := range all.Implementations() {
		m[i.Name] = i.Declares()
	}
	for _, name := range impls {
		if i, err := f.known.find(name); err == nil { // the role of a device is not there
			m[name] = i.Declares()
		}
	}
	return m
}

// reference is the implementations that have to exercise every rule that a scenario is there for. A program tells less, and
// two different ends share fewer rules. What no scenario exercised is INCONCLUSIVE in the table, whoever it is.
func (f *conformFlags) reference(impls []string) []string {
	if f.peer != "" {
		return nil
	}
	return slices.DeleteFunc(all.Plain(), func(name string) bool { return !slices.Contains(impls, name) })
}

// execute runs the scenarios that are selected, and prints what they found.
func (f *conformFlags) execute(ctx context.Context) error {
	b := benchOnDemand{name: f.bench}
	t, selected, err := f.register(&b)
	switch {
	case err != nil:
		return err
	case f.list:
		return printSpecs(os.Stdout, selected)
	}
	if err := f.play(&b, t, selected); err != nil {
		return err
	}
	return f.conclude(ctx, os.Stdout, t, len(selected))
}

// register makes the specs known to Ginkgo, which a process can do once, and returns those selected, with the table that
// their outcomes will go to.
func (f *conformFlags) register(b *benchOnDemand) (*conformTable, []suite.Spec, error) {
	impls, err := f.implementations(b)
	if err != nil {
		return nil, nil, err
	}
	if f.waived, err = f.waivers.read(); err != nil {
		return nil, nil, usage(err)
	}
	t := newConformTable(impls, f.color)
	t.peer = f.peer
	cfg := suite.Config{Implementations: impls, Reference: f.reference(impls), Scenarios: scenarios.All(), Bench: f.bench,
		Features: f.declarations(impls), Peer: f.peer, Lacks: f.known.lacks,
		Run: func(ctx context.Context, impl string, sc *scenarios.Scenario, s *scenario.Spec) (*suite.Result, error) {
			r, err := f.run(ctx, b, impl, sc, s)
			return run.ForSuite(r), err
		},
		Observe: func(o *suite.Outcome) {
			if f.views != nil {
				o = f.views(o)
			}
			t.add(o)
			for _, hear := range f.judged {
				hear(o)
			}
		}}
	if f.dut != "" {
		f.judgeDevice(&cfg)
		t.account = newAccount(cfg.Scenarios)
	}
	if err := suite.Register(cfg); err != nil {
		return nil, nil, exit{exitBroken, err.Error()}
	}
	selected, err := suite.List(f.suite)
	if err == nil && len(selected) == 0 {
		err = fmt.Errorf("no scenario is selected; see: conform --list")
	}
	return t, selected, usage(err)
}

// play runs the specs, with a line that says how far it is.
func (f *conformFlags) play(b *benchOnDemand, t *conformTable, selected []suite.Spec) error {
	if b.Bench == nil {
		if err := b.open(); err != nil {
			return err
		}
	}
	bar := newProgress(os.Stderr, !f.quiet)
	f.judged = append(f.judged, func(o *suite.Outcome) { bar.show(float64(t.done)/float64(len(selected)), o.Impl+" "+o.Scenario) })
	_, err := suite.Run(f.suite)
	bar.done()
	return usage(err)
}

// conclude prints the findings and the table, and turns the worst outcome into the exit code.
func (f *conformFlags) conclude(ctx context.Context, out io.Writer, t *conformTable, selected int) error {
	t.expect(f.waived, f.kernel, run.Today())
	if err := t.print(out, f.quiet); err != nil {
		return exit{exitBroken, err.Error()}
	}
	switch {
	case ctx.Err() != nil || t.done < selected:
		return exit{exitBroken, fmt.Sprintf("conform: interrupted after %d of %d scenarios", t.done, selected)}
	case t.worst >= rule.Invalid:
		return exit{code: exitBroken}
	case t.worst != rule.Pass:
		return exit{code: exitFailure}
	}
	return nil
}

// implementations reads --impl and --peer. On the netns bench, the default leaves out what it cannot run. Programs are asked
// what they can do, which needs the privilege that the bench gets.
func (f *conformFlags) implementations(b *benchOnDemand) ([]string, error) {
	f.known = catalogue{}
	if f.dut != "" {
		names, err := f.roles()
		return names, usage(err)
	}
	names := strings.Split(f.impl, ",")
	if f.impl == "" {
		names = all.Names()
	}
	for _, name := range append(slices.Clone(names), cmp.Or(f.peer, names[0])) {
		if name == dut.Name {
			return nil, usage(fmt.Errorf("--impl %s: a device is judged in both its roles; use --dut %s", name, name))
		}
		if err := enginesOnly(f.bench, name); err != nil {
			return nil, usage(err)
		}
		if scenario.Foreign(name) && b.Bench == nil {
			if err := b.open(); err != nil {
				return nil, err
			}
		}
		if _, err := f.known.find(name); err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// benchOnDemand makes the bench when something is going to run, because that may start this process again.
type benchOnDemand struct {
	name string
	bench.Bench
}

func (b *benchOnDemand) open() (err error) {
	b.Bench, err = findBench(b.name, "")
	return err
}

// attempts is how often a run is made, unless told otherwise, whose link was not what it should have been. Of two hundred runs in a
// guest four are not, so that a suite of as many rarely has one that never is.
const attempts = 5

// run takes one scenario through the pipeline. A run whose link was not what the scenario says proves nothing about the
// implementation, so it is made again; a failure never is.
func (f *conformFlags) run(ctx context.Context, b bench.Bench, impl string, sc *scenarios.Scenario, s *scenario.Spec) (*model.Result, error) {
	for attempt := 1; ; attempt++ {
		r, err := f.once(ctx, b, impl, sc, s, attempt)
		if err != nil || r.Status != rule.Invalid.String() || attempt >= f.attempts || f.bench == "sim" {
			if r != nil && f.ended != nil {
				f.ended(impl, sc.Name, r)
			}
			return r, err
		}
	}
}

// conformJob is what a scenario becomes.
type conformJob struct {
	spec  *scenario.Spec
	bench bench.Bench
	impls [2]engine.Implementation
}

// job puts an implementation at both ends, or a device at one.
func (f *conformFlags) job(b bench.Bench, impl string, s *scenario.Spec) (*conformJob, error) {
	if f.dut != "" {
		return deviceJob(b, impl, s)
	}
	i, _ := f.known.find(impl) // both have been found before
	peer, _ := f.known.find(cmp.Or(f.peer, impl))
	return &conformJob{s, b, [2]engine.Implementation{i, peer}}, nil
}

func (f *conformFlags) once(ctx context.Context, b bench.Bench, impl string, sc *scenarios.Scenario, s *scenario.Spec, attempt int) (*model.Result, error) {
	job, err := f.job(b, impl, s)
	if err != nil {
		return nil, err
	}
	folder := ""
	if f.out != "" {
		folder = filepath.Join(f.out, short(impl), filepath.FromSlash(sc.Name))
		if attempt > 1 {
			folder += fmt.Sprintf("-attempt-%d", attempt)
		}
	}
	r, err := run.Execute(ctx, run.Options{
		Spec: job.spec, Bench: job.bench, Name: f.bench, Impls: job.impls, Rules: rules.All(), Folder: folder, Codec: run.CodecOn, Link: f.link,
		Command: again(impl, f.peer, f.bench, sc.Name),
		Version: version(), Commit: commit(), Waivers: rule.WaivedIn(sc.Name, f.waived), Subjects: subjects(impl), Several: true,
	})
	if r != nil {
		f.kernel = run.Device(r).Kernel
	}
	return r, err
}
