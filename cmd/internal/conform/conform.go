// Package conform plays the conformance scenarios against implementations, or against a device in both its roles, and
// puts their outcomes into one table: a line for each rule, a column for each implementation or role.
//
// A Session goes through its steps once: New finds who is to be judged, Register makes the scenarios known and selects
// some of them, Play runs those. Package suite, which is Ginkgo underneath, runs and judges; package run makes each
// run. What is selected and how it is printed is for the command to say.
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
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Options say who is judged, where and how.
type Options struct {
	Impl   string                      // names of implementations, separated by commas; "" is all of this repository
	Peer   string                      // name of the implementation at B; "" is the one at A
	Device string                      // judge this device in place of implementations, one of dut.Names; "" is none
	Hosted registry.Hosted             // where it is, on the remote bench
	Open   func() (bench.Bench, error) // makes that bench; nil makes it by its name
	Bench  string                      // name of the bench; a device takes netns in place of sim
	Link   string                      // "auto", "netem", "ebpf" or "relay"
	Dilate vtime.Dilation              // see run.Options
	Folder string                      // holds a run folder for each scenario; "" keeps none
	// of each run, in its own time; 0 is what the scenario says, and so is one that a timed scenario exceeds
	Limit time.Duration
	Still time.Duration // how long nothing of a run in real time may move; 0 is a default
	// runs of a scenario until one has a valid link, on benches in real time; other outcomes are not repeated
	Attempts int
	Paint    bool // the table in colours
	Taps     bool // keep captures in virtual time too, see run.Options
	Select   suite.Options

	// Kept holds the results of scenarios in virtual time. Those that are there are not run, and what is run is put
	// there. May be nil.
	Kept *units.Folder

	// Scenarios are played in place of those that come with the program, and Command is what runs one of them again;
	// nil are those of conform.
	Scenarios []scenarios.Scenario
	Command   func(impl, scenario string) string

	// View changes what counts of an outcome; nil counts all of it. Judged hears of each outcome after the table has
	// it. Ended hears of the last run of each scenario, before its outcome. Both may be nil.
	View   func(*suite.Outcome) *suite.Outcome
	Judged func(*suite.Outcome)
	Ended  func(impl, scenario string, r *model.Result)
}

// Where is the name of the bench that runs: a device is in no simulation.
func (o *Options) Where() string {
	if o.Device != "" && o.Bench == "sim" {
		return "netns"
	}
	return o.Bench
}

// Bound puts the limit into a Spec.
func (o *Options) Bound(s *scenario.Spec) {
	if o.Limit > 0 {
		s.Limit = max(vtime.FromStd(o.Limit), s.For)
	}
}

// Attempts is how often a run is made, unless told otherwise, whose link was not what it should have been. Of two
// hundred runs in a guest four are not, so that a suite of as many rarely has one that never is.
const Attempts = 5

// Session is one judgement.
type Session struct {
	Options
	Impls  []string // who is judged: implementations, or the roles of the device
	Known  registry.Catalogue
	Runner *registry.OnDemand // the bench, made when something is going to run
	Waived []rule.Waiver      // set by Register
	Table  *Table             // likewise
	Specs  []suite.Spec       // those selected; likewise
	Kernel string             // of the machine that the scenarios ran on, when they did

	mu sync.Mutex // of Kernel: scenarios in virtual time may run at once
}

// New finds who is to be judged. Programs are asked what they can do, which needs the bench and its privilege.
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

// implementations reads the names of implementations and peer.
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

// Declarations is what each implementation declares, by name; also of those that are not judged.
func (s *Session) Declarations() map[string][]string {
	m := map[string][]string{}
	for _, i := range all.Implementations() {
		m[i.Name] = i.Declares()
	}
	for _, name := range s.Impls {
		if i, err := s.Known.Find(name); err == nil { // the role of a device is not there
			m[name] = i.Declares()
		}
	}
	return m
}

// reference is the implementations that have to exercise every rule that a scenario is there for. A program tells less,
// and two different ends share fewer rules. What no scenario exercised is INCONCLUSIVE in the table, whoever it is.
func (s *Session) reference() []string {
	if s.Peer != "" {
		return nil
	}
	return slices.DeleteFunc(all.Plain(), func(name string) bool { return !slices.Contains(s.Impls, name) })
}

// Register makes the scenarios known to Ginkgo, which a process can do once, and selects some of them.
func (s *Session) Register(waived []rule.Waiver) error {
	if err := suite.Register(s.suite(waived)); err != nil {
		return fault.Broken(err)
	}
	var err error
	s.Specs, err = suite.List(s.Select)
	return s.chosen(err)
}

// suite is what is judged and how, by the waivers that hold.
func (s *Session) suite(waived []rule.Waiver) suite.Config {
	s.Waived, s.Table = waived, NewTable(s.Impls, s.Peer, s.Paint)
	s.Table.again = s.Again
	if s.Scenarios == nil {
		s.Scenarios = scenarios.All()
	}
	cfg := suite.Config{Implementations: s.Impls, Reference: s.reference(), Scenarios: s.Scenarios, Bench: s.Bench,
		Features: s.Declarations(), Peer: s.Peer, Lacks: s.Known.Lacks, Observe: s.Observe,
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

// chosen is the error of a selection.
func (s *Session) chosen(err error) error {
	if err == nil && len(s.Specs) == 0 {
		err = fmt.Errorf("no scenario is selected; see: conform --list")
	}
	return fault.Usage(err)
}

// List writes what is selected, with its labels.
func (s *Session) List(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, spec := range s.Specs {
		fmt.Fprintf(w, "%s\t%s\t%s\n", spec.Impl, spec.Scenario, strings.Join(spec.Labels, " "))
	}
	return w.Flush()
}

// Observe takes in the outcome of a scenario.
func (s *Session) Observe(o *suite.Outcome) {
	if s.View != nil {
		o = s.View(o)
	}
	s.Table.Add(o)
	if s.Judged != nil {
		s.Judged(o)
	}
}

// Play runs the selected scenarios on the Runner, which has to be open. Progress hears after each how much of them is
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

// Settle ends the table: waived rules that no scenario broke, though one should have, are XPASS.
func (s *Session) Settle() { s.Table.Expect(s.Waived, s.Kernel, run.Today()) }

// run takes one scenario through the pipeline, again while its link is not what the scenario says.
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

// Again is the command that runs one scenario again.
func (s *Session) Again(impl, scenario string) string {
	if s.Command != nil {
		return s.Command(impl, scenario)
	}
	if h := s.Hosted; h.File != "" {
		which := ""
		if h.Host != "" {
			which = " --dut " + h.Host
		}
		return fmt.Sprintf("gauntlet conform --testbed %s%s --focus '%s %s$'", h.File, which, impl, scenario)
	}
	return Again(impl, s.Peer, s.Bench, scenario)
}

// job puts an implementation at both ends, or a device at one.
func (s *Session) job(b bench.Bench, impl string, spec *scenario.Spec) (*device.Job, error) {
	if s.Device != "" {
		return device.As(impl, b, spec)
	}
	i, _ := s.Known.Find(impl) // both have been found before
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
		Version: build.Version(), Commit: build.Commit(), Waivers: rule.WaivedIn(sc.Name, s.Waived),
		Subjects: device.Subjects(impl), Several: true, Explain: rulebook.Of,
	})
	if r != nil {
		s.seen(run.Device(r).Kernel)
	}
	return r, err
}
