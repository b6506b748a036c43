package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/rate"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/harness/workload"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/perf/atlas"
)

// runFlags are the flags of run, as text: they become scenario lines, so that a flag and a line of a Spec file mean the
// same and are checked by the same code.
type runFlags struct {
	impl, bench, rate, rtt, jitter, loss, burst, msg, cdf, offered, op, cc, out, link, codec, color, expose string
	queue, mtu, qps, qd, cqmod, count, timeout, store                                                       int
	duration, every                                                                                         time.Duration
	seed                                                                                                    uint64
	params, faults                                                                                          []string
	json, quiet                                                                                             bool
	waivers                                                                                                 waiverFlag
	guest                                                                                                   guestFlags
}

func runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [SPEC]",
		Short: "Run a workload over an emulated link, judge it and report",
		Long: `Run a workload over an emulated link, judge the trace and write a report.

The common case is given by flags, everything by a Spec file; flags change what the file says.`,
		Example: `  gauntlet run --impl gbn --bench netns --rate 100M --rtt 20ms --loss 1e-3 --msg 64KiB --count 200 --seed 7
  gauntlet run --bench sim --rate 10G --rtt 40ms --loss 1e-4 --msg 1MiB --qd 512 --duration 10s
  gauntlet run --bench sim --burst enter=1e-4,len=8,loss=0.3 --fault 'drop A psn=+2 tx=1' --count 10`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := f.spec(c, args)
			if err == nil {
				err = f.check(c)
			}
			if err != nil {
				return usage(err)
			}
			if elsewhere(f.bench) {
				out := f.folder(s)
				f.guest.carry(s.Impl[:]...)
				return f.guest.again(c.Context(), s.Seed, slices.Concat(args, tapes(s), existing(f.waivers.names)), []string{out}, "--out", out)
			}
			return f.execute(c.Context(), s)
		},
	}
	f.define(c)
	return c
}

// define declares the flags.
func (f *runFlags) define(c *cobra.Command) {
	d := c.Flags()
	d.StringVar(&f.impl, "impl", "gbn", "implementation, or two separated by a comma for A and B (see: list impls); exec:PATH is a program of yours, image:NAME one in a container image")
	d.StringVar(&f.bench, "bench", "sim", benchHelp)
	d.StringVar(&f.rate, "rate", "1G", "line rate, layer 1: 100M, 10G; 0 is unlimited")
	d.StringVar(&f.rtt, "rtt", "10ms", "round-trip propagation delay")
	d.StringVar(&f.jitter, "jitter", "0s", "each packet's one-way delay varies by up to this much")
	d.StringVar(&f.loss, "loss", "0", "loss probability (1e-4, 0.1%), or a model: 'gemodel p=1% r=30%', 'state p13=1%', 'tape file=F'")
	d.StringVar(&f.burst, "burst", "", "burst loss: enter=1e-4,len=8,loss=0.3")
	d.IntVar(&f.queue, "queue", 0, "packets that may wait for the line (default: twice the bandwidth-delay product, 1000 at least)")
	d.IntVar(&f.mtu, "mtu", 1024, "path MTU: 256, 512, 1024, 2048 or 4096")
	d.StringVar(&f.msg, "msg", "64KiB", "message size")
	d.StringVar(&f.cdf, "cdf", "", "sizes of messages that vary: websearch, fb-hadoop, or corners such as 1KiB:50%,1MiB:1")
	d.StringVar(&f.offered, "offered", "", "messages arrive by the clock (Poisson) and offer such a share of the rate: 30%")
	d.DurationVar(&f.every, "every", 0, "messages arrive by the clock, on all connections at once: 10ms")
	d.StringVar(&f.op, "op", "write", "operation: write, write-imm, send, send-imm or read")
	d.StringVar(&f.cc, "cc", "none", "rate control: none, dcqcn or dctcp; it hears of congestion when the link marks (link ecn-min=…)")
	d.IntVar(&f.qps, "qps", 1, "connections")
	d.IntVar(&f.qd, "qd", 128, "queue depth: requests outstanding per connection")
	d.IntVar(&f.cqmod, "cqmod", 1, "one signalled completion in so many")
	d.IntVar(&f.count, "count", 0, "messages per connection (default 100, or with many connections so many that all have 10000; none with --duration)")
	d.DurationVar(&f.duration, "duration", 0, "run for so long instead of a count")
	d.IntVar(&f.timeout, "timeout", -1, "local ACK timeout code (default: 14, or what covers 1.5 RTT)")
	d.Uint64Var(&f.seed, "seed", 1, "seed of every random stream")
	d.StringArrayVar(&f.params, "param", nil, "parameter of the scheme, name=value; may be repeated")
	d.StringArrayVar(&f.faults, "fault", nil, "scripted fault, such as 'drop A psn=+2 tx=1'; may be repeated")
	d.StringVar(&f.link, "link", "auto", "netns, container, lab: auto, netem (the kernel's) or relay (user space)")
	d.StringVar(&f.expose, "expose", "", "netns: name the namespaces NAME-a, NAME-link and NAME-b while the run lasts")
	d.StringVar(&f.codec, "codec", "auto", "sim: encode packets, on, off or auto (on below a million packets)")
	d.StringVar(&f.out, "out", "", "run folder (default: a new one below runs/)")
	d.IntVar(&f.store, "store", run.DefaultStore, "packet records to keep in trace.ndjson")
	d.BoolVar(&f.json, "json", false, "print the result as JSON")
	d.BoolVar(&f.quiet, "quiet", false, "no progress line")
	f.waivers.define(c)
	d.StringVar(&f.color, "color", "auto", "colours: auto (on a terminal), always or never")
	f.guest.define(c)
	for _, flag := range slices.Sorted(maps.Keys(choices)) {
		complete(c, flag, choices[flag]...)
	}
	complete(c, "impl", all.Names()...)
	complete(c, "cdf", workload.Names()...)
}

// benchHelp explains --bench.
const benchHelp = "where to run: sim (virtual time), netns (real packets between network namespaces), container (the same around containers) or lab (the same on a guest's kernel)"

// choices are the values of flags that have few.
var choices = map[string][]string{
	"bench": {"sim", "netns", "container", "lab"},
	"cc":    append([]string{"none"}, rate.Names()...),
	"codec": {"auto", "on", "off"},
	"color": {"auto", "always", "never"},
	"law":   {string(atlas.Geometric), string(atlas.Fixed)},
	"link":  {"auto", "netem", "relay"},
	"op":    {"write", "write-imm", "send", "send-imm", "read"},
	"mtu":   {"256", "512", "1024", "2048", "4096"},
}

// complete offers the values of a flag to the shell.
func complete(c *cobra.Command, flag string, values ...string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // fails for a flag that is not there
}

// check looks at the flags that are not of the Spec.
func (f *runFlags) check(c *cobra.Command) error {
	for _, flag := range []string{"bench", "codec", "color", "link"} {
		if err := oneOf(c, flag); err != nil {
			return err
		}
	}
	for flag, bench := range map[string]string{"expose": "netns", "codec": "sim"} {
		if c.Flags().Changed(flag) && f.bench != bench {
			return fmt.Errorf("--%s: means nothing on the %s bench; add --bench %s or leave it out", flag, f.bench, bench)
		}
	}
	if err := onBench(c, f.bench); err != nil {
		return err
	}
	if f.store < 1 {
		return fmt.Errorf("--store %d: want 1 or more packet records", f.store)
	}
	return nil
}

// onBench checks the flags that mean something on some benches only.
func onBench(c *cobra.Command, bench string) error {
	if c.Flags().Changed("link") && bench == "sim" {
		return fmt.Errorf("--link: means nothing on the sim bench; add --bench netns or leave it out")
	}
	for _, flag := range guestOnly {
		if c.Flags().Changed(flag) && bench != "lab" {
			return fmt.Errorf("--%s: means nothing on the %s bench; add --bench lab or leave it out", flag, bench)
		}
	}
	return nil
}

// oneOf checks a flag that has few values.
func oneOf(c *cobra.Command, flag string) error {
	if value := c.Flag(flag).Value.String(); !slices.Contains(choices[flag], value) {
		return fmt.Errorf("--%s %q: want one of %s", flag, value, strings.Join(choices[flag], ", "))
	}
	return nil
}

// spec builds the Spec from the file, if there is one, and the flags.
func (f *runFlags) spec(c *cobra.Command, args []string) (*scenario.Spec, error) {
	s := scenario.Default()
	if len(args) == 1 {
		var err error
		if s, err = scenario.ReadFile(args[0]); err != nil {
			return nil, err
		}
	}
	given := func(name string) bool { return len(args) == 0 || c.Flags().Changed(name) }
	lines, err := f.lines(given)
	if err != nil {
		return nil, err
	}
	if f.timeout < -1 || f.timeout > 31 {
		return nil, fmt.Errorf("--timeout %d: want a code from 0 (no timer) to 31", f.timeout)
	}
	for _, l := range lines {
		if err := s.Line(l); err != nil {
			return nil, err
		}
	}
	if len(args) == 0 || slices.ContainsFunc(loadFlags, c.Flags().Changed) {
		s.Loads, s.Turns = nil, scenario.Turns{}
		if err := s.Line(f.load()); err != nil {
			return nil, err
		}
	}
	f.fit(s, c, len(args) == 0)
	return s, s.Validate()
}

// lines turns flags into scenario lines.
func (f *runFlags) lines(given func(string) bool) ([]string, error) {
	var out []string
	add := func(name, format string, args ...any) {
		if given(name) {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	rtt, err := vtime.ParseDuration(f.rtt)
	if err != nil {
		return nil, fmt.Errorf("--rtt: %w", err)
	}
	add("impl", "impl %s", strings.ReplaceAll(f.impl, ",", " "))
	add("rate", "link rate=%s", f.rate)
	add("rtt", "link delay=%s", rtt/2)
	add("jitter", "link jitter=%s", f.jitter)
	add("loss", "loss %s", f.lossModel())
	if f.burst != "" {
		out = append(out, "loss burst:"+f.burst)
	}
	add("mtu", "qp mtu=%d", f.mtu)
	add("qps", "qp count=%d", f.qps)
	add("qd", "qp qd=%d", f.qd)
	add("cqmod", "qp cqmod=%d", f.cqmod)
	add("cc", "qp cc=%s", f.cc)
	add("seed", "seed %d", f.seed)
	if f.duration < 0 || f.duration > longest {
		return nil, fmt.Errorf("--duration %s: want more than 0 and at most %s", f.duration, longest)
	}
	if f.duration != 0 {
		out = append(out, fmt.Sprintf("run for=%s limit=%s", vtime.FromStd(f.duration), vtime.FromStd(f.duration+time.Hour)))
	}
	for _, p := range f.params {
		out = append(out, "param "+p)
	}
	return append(out, f.faults...), nil
}

// longest bounds --duration; a longer run is a mistyped one.
const longest = 24 * time.Hour

// lossModel reads --loss: a bare number is independent loss.
func (f *runFlags) lossModel() string {
	if f.loss == "0" {
		return "none"
	}
	if f.loss == "" || strings.ContainsAny(f.loss[:1], "0123456789.-+") {
		return "random p=" + f.loss
	}
	return f.loss
}

// allMessages bounds what all connections send when nobody says how much: 650 MB of the default size, some seconds of 1 Gb/s.
const allMessages = 10_000

// loadFlags are those that make the workload line; one of them replaces the workload of a file.
var loadFlags = []string{"msg", "cdf", "offered", "every", "count", "op"}

// load is the workload line of the flags.
func (f *runFlags) load() string {
	count := f.count
	if count == 0 && f.duration == 0 {
		count = min(100, max(1, allMessages/max(1, f.qps)))
	}
	size := "msg=" + f.msg
	if f.cdf != "" {
		size = "cdf=" + f.cdf
	}
	line := fmt.Sprintf("load %s %s count=%d", f.op, size, count)
	if f.offered != "" {
		line += " offered=" + f.offered
	}
	if f.every != 0 {
		line += fmt.Sprintf(" every=%s", vtime.FromStd(f.every))
	}
	return line
}

// fit chooses what the flags left open from what they said: a queue that holds the bandwidth-delay product twice, and a
// transport timer that outlasts the round trip.
func (f *runFlags) fit(s *scenario.Spec, c *cobra.Command, flagsOnly bool) {
	if c.Flags().Changed("queue") {
		s.Link.AB.Queue, s.Link.BA.Queue = f.queue, f.queue
	} else if flagsOnly {
		bdp := s.Link.AB.BDPPackets(s.RTT(), f.mtu+82)
		s.Link.AB.Queue = max(1000, 2*bdp)
		s.Link.BA.Queue = s.Link.AB.Queue
	}
	if c.Flags().Changed("timeout") {
		for side := range s.QP {
			s.QP[side].Timeout = engine.LocalACKTimeout(max(f.timeout, 0))
		}
	} else if flagsOnly {
		s.FitTimeout()
	}
}

// execute runs the Spec and prints the result.
func (f *runFlags) execute(ctx context.Context, s *scenario.Spec) error {
	if err := enginesOnly(f.bench, s.Impl[:]...); err != nil {
		return usage(err)
	}
	known, err := f.waivers.read()
	if err != nil {
		return usage(err)
	}
	b, err := findBench(f.bench, f.expose) // which may start this process again, with the privilege that programs need
	if err != nil {
		return err
	}
	impls, err := implementations(s)
	if err != nil {
		return err
	}
	job, err := place(b, s, impls)
	if err != nil {
		return usage(err)
	}
	bar := newProgress(os.Stderr, !f.quiet && !f.json)
	result, err := run.Execute(ctx, run.Options{
		Spec: job.spec, Bench: job.bench, Name: f.bench, Impls: job.impls, Rules: rules.All(), Folder: f.folder(s), Codec: run.Codec(f.codec), Link: f.link,
		Store: f.store, Command: commandLine(), Version: version(), Commit: commit(), Progress: bar.show,
		Waivers: known,
	})
	bar.done()
	return printResult(result, f.json, f.color, err)
}

// implementations finds those of both sides and lets them look at their attributes and parameters.
func implementations(s *scenario.Spec) (impls [2]engine.Implementation, err error) {
	known := catalogue{}
	for side, name := range s.Impl {
		if impls[side], err = known.find(name); err != nil {
			return impls, err
		}
		if err := impls[side].Try(s.Ends(0)[side], &memory.Host{}); err != nil {
			return impls, usage(err)
		}
	}
	if err := together(impls); err != nil {
		return impls, usage(err)
	}
	if what := known.lacks(s); what != "" {
		return impls, usage(fmt.Errorf("%s: NOT-APPLICABLE", what))
	}
	if _, err = s.Fit(impls); err != nil {
		return impls, usage(err)
	}
	return impls, nil
}

// enginesOnly refuses programs and devices on a bench that cannot start them.
func enginesOnly(bench string, names ...string) error {
	for _, name := range names {
		switch {
		case name == dut.Name && bench != "netns" && bench != "lab":
			return fmt.Errorf("implementation %s: soft-RoCE is in a kernel; add --bench lab", name)
		case strings.HasPrefix(name, scenario.Exec) && bench == "sim":
			return fmt.Errorf("implementation %s: a program needs real packets; add --bench netns", name)
		case strings.HasPrefix(name, scenario.Image) && bench != "container":
			return fmt.Errorf("implementation %s: an image needs a container; add --bench container", name)
		}
	}
	return nil
}

// together checks that two implementations can be at the two ends: both speak RoCEv2, whatever the scheme, or they are the same.
func together(impls [2]engine.Implementation) error {
	a, b := &impls[0], &impls[1]
	if a.Name != b.Name && (a.OverIP() || b.OverIP()) {
		return fmt.Errorf("implementations %s and %s: they do not speak the same protocol; name one, or two that speak RoCEv2", a.Name, b.Name)
	}
	return nil
}

// folder is where the run is kept: --out, or a new folder below runs/.
func (f *runFlags) folder(s *scenario.Spec) string {
	if f.out != "" {
		return f.out
	}
	name := fmt.Sprintf("%s-%s-%s-%s", time.Now().UTC().Format("20060102-150405"), strings.Join(unique([]string{short(s.Impl[0]), short(s.Impl[1])}), "+"), f.bench, s.Hash()[:8])
	dir := filepath.Join("runs", name)
	for n := 2; ; n++ {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return dir
		}
		dir = filepath.Join("runs", fmt.Sprintf("%s-%d", name, n))
	}
}

func unique(names []string) []string {
	if len(names) == 2 && names[0] == names[1] {
		return names[:1]
	}
	return names
}
