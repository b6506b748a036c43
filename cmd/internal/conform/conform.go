// Package conform plays the conformance scenarios against implementations, or against a device in both its roles, and
// sums up their outcomes in one table: a line for each rule, a column for each implementation or role.
//
// A Session goes through its steps once: New finds the implementations to judge, Register declares the scenarios and
// selects some of them, Play runs those. Package suite, on top of Ginkgo, runs and judges scenarios; package run makes
// each run. The command chooses the scenarios and the form of output.
package conform

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/device"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/rulebook"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/units"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Options configure a Session.
type Options struct {
	Impl   string                      // names of implementations, separated by commas; "" for all of this repository
	Peer   string                      // name of the implementation at B; "" for the one at A
	Device string                      // judge this device in place of implementations, one of dut.Names; "" for none
	Hosted registry.Hosted             // where the device is, on the remote bench
	Open   func() (bench.Bench, error) // makes the bench; nil makes it by its name
	Bench  string                      // name of the bench; a device takes netns in place of sim
	Link   string                      // "auto", "netem", "ebpf" or "relay"
	Dilate vtime.Dilation              // see run.Options
	Folder string                      // holds a run folder for each scenario; "" keeps none
	// limit of each run in the Spec's time, raised to the duration of a timed scenario; 0 keeps the scenario's
	Limit time.Duration
	Still time.Duration // see run.Options
	// on benches in real time, how often a scenario is run at most until its result is not INVALID
	Attempts int
	Paint    bool // print the table in colours
	Taps     bool // see run.Options
	Select   suite.Options

	// Kept stores the results of scenarios in virtual time. A stored result is used in place of a run, and a new one is
	// stored. May be nil.
	Kept *units.Folder

	// Scenarios are played in place of those that come with the program, and Command returns the command that repeats
	// one of them. Nil stands for the scenarios and the command of conform.
	Scenarios []scenarios.Scenario
	Command   func(impl, scenario string) string

	// View may replace an outcome before it is counted. Judged is called with each outcome after the table has it,
	// Ended with the result of the last attempt at each scenario, before its outcome. Each may be nil.
	View   func(*suite.Outcome) *suite.Outcome
	Judged func(*suite.Outcome)
	Ended  func(impl, scenario string, r *model.Result)
}

// Where returns the name of the bench to use: a device cannot run in the simulation.
func (o *Options) Where() string {
	if o.Device != "" && o.Bench == "sim" {
		return "netns"
	}
	return o.Bench
}

// Bound sets the limit of a Spec.
func (o *Options) Bound(s *scenario.Spec) {
	if o.Limit > 0 {
		s.Limit = max(vtime.FromStd(o.Limit), s.For)
	}
}

// Attempts is the default limit of attempts at a run whose results are INVALID. Four of two hundred runs in a guest
// are INVALID, so a suite of that size rarely has a run whose attempts all are.
const Attempts = 5

// Session is one pass of the suite.
type Session struct {
	Options
	Impls  []string // the implementations to judge, or the roles of the device
	Known  registry.Catalogue
	Runner *registry.OnDemand // the bench, made when the first run needs it
	Waived []waivers.Waiver   // set by Register
	Table  *Table             // set by Register
	Specs  []suite.Spec       // those selected; set by Register
	Kernel string             // of the machine on which the scenarios ran; "" before

	mu sync.Mutex // guards Kernel: scenarios in virtual time may run at once
}

// New finds the implementations to judge. It asks programs for their capabilities, which needs the bench and its
// privilege.
func New(o Options) (*Session, error) {
	o.Bench = o.Where()
	s := &Session{Options: o, Known: registry.Catalogue{}, Runner: &registry.OnDemand{Name: o.Bench, Make: o.Open}}
	var err error
	if o.Device != "" {
		s.Impls, err = o.roles()
		return s, fault.Usage(err)
	}
	s.Impls, err = s.implementations()
	return s, err
}

// implementations checks the names of the implementations and of the peer, and returns the former, sorted.
func (s *Session) implementations() ([]string, error) {
	names := strings.Split(s.Impl, ",")
	if s.Impl == "" {
		names = all.Names()
	}
	for _, name := range append(slices.Clone(names), cmp.Or(s.Peer, names[0])) {
		if name == dut.Name {
			return nil, fault.Usage(fmt.Errorf(
				"--impl %s: a device is judged in both its roles; use --dut %s", name, name))
		}
		if err := registry.Runs(s.Bench, name); err != nil {
			return nil, fault.Usage(err)
		}
		if scenario.Foreign(name) {
			if err := s.Runner.Open(); err != nil {
				return nil, err
			}
		}
		if _, err := s.Known.Find(name); err != nil {
			return nil, err
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Declarations returns the features that each implementation declares, by name, also of those that are not judged.
func (s *Session) Declarations() map[string][]string {
	m := map[string][]string{}
	for _, i := range all.Implementations() {
		m[i.Name] = i.Declares()
	}
	for _, name := range s.Impls {
		if i, err := s.Known.Find(name); err == nil { // a role of a device is not in the catalogue
			m[name] = i.Declares()
		}
	}
	return m
}

// reference lists the implementations that have to exercise every rule that a scenario names. A program reports less,
// and two different ends share fewer rules, so neither counts. A rule that no scenario exercised is INCONCLUSIVE in the
// table of every implementation.
func (s *Session) reference() []string {
	if s.Peer != "" {
		return nil
	}
	return slices.DeleteFunc(all.Plain(), func(name string) bool { return !slices.Contains(s.Impls, name) })
}

// Register declares the scenarios to Ginkgo, which a process can do only once, and selects some of them.
func (s *Session) Register(waived []waivers.Waiver) error {
	if err := suite.Register(s.suite(waived)); err != nil {
		return fault.Broken(err)
	}
	var err error
	s.Specs, err = suite.List(s.Select)
	return s.chosen(err)
}

// suite returns the configuration of the suite under the given waivers.
func (s *Session) suite(waived []waivers.Waiver) suite.Config {
	s.Waived, s.Table = waived, NewTable(s.Impls, s.Paint, s.Again)
	if s.Scenarios == nil {
		s.Scenarios = scenarios.All()
	}
	cfg := suite.Config{Implementations: s.Impls, Reference: s.reference(), Scenarios: s.Scenarios, Bench: s.Bench,
		Features: s.Declarations(), Peer: s.Peer, Lacks: s.Known.Lacks, Observe: s.Observe,
		Version: build.Version(), Commit: build.Commit(),
		Run: func(ctx context.Context, impl string, sc *scenarios.Scenario,
			spec *scenario.Spec) (*suite.Result, error) {
			return s.kept(ctx, impl, sc, spec)
		}}
	if s.Device != "" {
		judgeDevice(&cfg)
		s.Table.account = newAccount(cfg.Scenarios)
	}
	return cfg
}

// chosen returns the error of a selection; an empty selection is one.
func (s *Session) chosen(err error) error {
	if err == nil && len(s.Specs) == 0 {
		err = fmt.Errorf("no scenario is selected; see: conform --list")
	}
	return fault.Usage(err)
}

// List writes the selected scenarios with their labels.
func (s *Session) List(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, spec := range s.Specs {
		fmt.Fprintf(w, "%s\t%s\t%s\n", spec.Impl, spec.Scenario, strings.Join(spec.Labels, " "))
	}
	return w.Flush()
}

// Observe counts the outcome of a scenario.
func (s *Session) Observe(o *suite.Outcome) {
	if s.View != nil {
		o = s.View(o)
	}
	s.Table.Add(o)
	if s.Judged != nil {
		s.Judged(o)
	}
}

// Play runs the selected scenarios on the Runner, which has to be open. It calls progress after each with the share
// done.
func (s *Session) Play(progress func(share float64, what string)) error {
	judged := s.Judged
	s.Judged = func(o *suite.Outcome) {
		if judged != nil {
			judged(o)
		}
		progress(float64(s.Table.Done)/float64(len(s.Specs)), o.Impl+" "+o.Scenario)
	}
	_, err := suite.Run(s.Select)
	return fault.Usage(err)
}

// Settle completes the table: a waived rule that no scenario broke, though one should have, becomes XPASS.
func (s *Session) Settle() { s.Table.Expect(s.Waived, s.Kernel, run.Today()) }

// run plays one scenario, again while its result is INVALID and attempts are left.
func (s *Session) run(ctx context.Context, impl string, sc *scenarios.Scenario,
	spec *scenario.Spec) (*model.Result, error) {
	r, err := run.Repeat(ctx, s.Attempts, func(t run.Try) (*model.Result, error) {
		return s.once(ctx, impl, sc, spec, t)
	})
	if r != nil && s.Ended != nil {
		s.Ended(impl, sc.Name, r)
	}
	return r, err
}

// job puts an implementation at both ends, or a device at one end.
func (s *Session) job(b bench.Bench, impl string, spec *scenario.Spec) (*device.Job, error) {
	if s.Device != "" {
		return device.As(impl, b, spec)
	}
	i, _ := s.Known.Find(impl) // New has found both
	peer, _ := s.Known.Find(cmp.Or(s.Peer, impl))
	return &device.Job{Spec: spec, Bench: b, Impls: [2]engine.Implementation{i, peer}}, nil
}

func (s *Session) once(ctx context.Context, impl string, sc *scenarios.Scenario, spec *scenario.Spec,
	t run.Try) (*model.Result, error) {
	s.Bound(spec)
	job, err := s.job(s.Runner, impl, spec)
	if err != nil {
		return nil, err
	}
	folder := ""
	if s.Folder != "" {
		folder = run.AttemptFolder(filepath.Join(s.Folder, registry.Short(impl), filepath.FromSlash(sc.Name)), t.Number)
	}
	r, err := run.Execute(ctx, run.Options{
		Spec: job.Spec, Bench: job.Bench, Name: s.Bench, Impls: job.Impls, Rules: rules.All(), Folder: folder,
		Codec: run.CodecOn,
		Link:  s.Link, Still: vtime.FromStd(s.Still), Taps: s.Taps, Dilate: s.Dilate, Least: t.Least,
		Command: s.Again(impl, sc.Name),
		Version: build.Version(), Commit: build.Commit(), Waivers: waivers.In(sc.Name, s.Waived),
		Subjects: device.Subjects(impl), Several: true, Explain: rulebook.Of,
	})
	if r != nil {
		s.seen(run.Device(r).Kernel)
	}
	return r, err
}
