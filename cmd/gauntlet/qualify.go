package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/conformance/profiles"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/reports/html"
	"github.com/rdma-gauntlet/gauntlet/reports/junit"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

// qualifyFlags are the flags of qualify. The scenarios are those of conform, run by conform.
type qualifyFlags struct {
	conform conformFlags
	profile string
	out     string
	seeds   int
	json    bool
}

func qualifyCommand() *cobra.Command {
	f := &qualifyFlags{}
	c := &cobra.Command{
		Use:   "qualify",
		Short: "Qualify an implementation for a profile: its rules, its targets, and a report folder",
		Long: `Qualify an implementation for a profile: run the scenarios of its families of rules, hold its targets beside a reference
that runs in the same minutes over the same links, and write a folder with everything that says so: qualification.html, .json
and capabilities.json, junit.xml, and a run folder for each scenario.

QUALIFIED means that no required rule was broken (but for waived ones), every core rule of the profile was seen to hold, every
link was what it should have been, and every target is within its bound. Exit codes: 0 QUALIFIED; 1 NOT QUALIFIED; 2 usage;
3 INVALID or ERROR: not qualified, and the implementation is not to blame.`,
		Example: `  gauntlet list profiles
  gauntlet qualify --impl irn --profile irn
  gauntlet qualify --impl exec:./mine --profile rc-gbn --bench netns --waivers ./known.txt --out reports/mine
  gauntlet qualify --dut rxe --waivers rxe --profile rc-gbn --bench lab --deterministic`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.start(c) },
	}
	f.define(c)
	return c
}

// define declares the flags.
func (f *qualifyFlags) define(c *cobra.Command) {
	d, k := c.Flags(), &f.conform
	d.StringVar(&k.impl, "impl", "", "implementation to qualify (see: list impls); exec:PATH is a program of yours")
	d.StringVar(&f.profile, "profile", "", "what to qualify it for (see: list profiles), or a file such as ./mine.txt")
	d.StringVar(&k.peer, "peer", "", "implementation at B (default: the one at A)")
	d.StringVar(&k.dut, "dut", "", "qualify a foreign device in place of an implementation: rxe, the kernel's soft-RoCE")
	d.StringVar(&k.bench, "bench", "sim", benchHelp)
	d.StringVar(&k.link, "link", "auto", "netns, lab: auto, netem (the kernel's) or relay (user space)")
	d.StringVar(&f.out, "out", "", "report folder (default: a new one below runs/)")
	d.IntVar(&k.attempts, "attempts", attempts, "netns, lab: runs of a scenario until one has a valid link; other outcomes are not repeated")
	d.IntVar(&f.seeds, "seeds", 3, "seeds of the runs of a target")
	k.waivers.define(c)
	d.BoolVar(&f.json, "json", false, "print the result as JSON")
	d.BoolVar(&k.quiet, "quiet", false, "no progress line")
	d.StringVar(&k.color, "color", "auto", "colours: auto (on a terminal), always or never")
	k.guest.define(c)
	for _, flag := range []string{"bench", "link", "color"} {
		complete(c, flag, choices[flag]...)
	}
	complete(c, "impl", all.Names()...)
	complete(c, "peer", all.Names()...)
	complete(c, "dut", dut.Name)
	complete(c, "profile", profiles.Names()...)
}

// start checks the flags, and runs here or in a guest.
func (f *qualifyFlags) start(c *cobra.Command) error {
	p, err := f.check(c)
	if err != nil {
		return usage(err)
	}
	k := &f.conform
	k.guest.carry(k.impl, k.peer, k.dut)
	folder := f.folder()
	if elsewhere(k.bench) {
		return k.guest.again(c.Context(), 1, existing(append(k.waivers.names, f.profile)), []string{folder}, "--out", folder)
	}
	return f.execute(c.Context(), &p, folder)
}

// check looks at the flags, and finds the profile.
func (f *qualifyFlags) check(c *cobra.Command) (profiles.Profile, error) {
	k := &f.conform
	for _, flag := range []string{"bench", "color", "link"} {
		if err := oneOf(c, flag); err != nil {
			return profiles.Profile{}, err
		}
	}
	switch {
	case f.profile == "":
		return profiles.Profile{}, fmt.Errorf("--profile: want one of %s, or a file such as ./mine.txt", strings.Join(profiles.Names(), " "))
	case k.impl == "" && k.dut == "" || strings.Contains(k.impl, ","):
		return profiles.Profile{}, fmt.Errorf("--impl %q: want one implementation, or --dut %s", k.impl, dut.Name)
	case f.seeds < 1 || f.seeds > mostSeeds || k.attempts < 1:
		return profiles.Profile{}, fmt.Errorf("--seeds %d, --attempts %d: want 1 or more, and %d seeds at most", f.seeds, k.attempts, mostSeeds)
	}
	if err := onBench(c, k.bench); err != nil {
		return profiles.Profile{}, err
	}
	return profiles.Find(f.profile)
}

// mostSeeds bounds the runs of a target: on a real bench each takes seconds.
const mostSeeds = 100

// folder is where the report goes: --out, or a new folder below runs/.
func (f *qualifyFlags) folder() string {
	if f.out != "" {
		return f.out
	}
	name := short(cmp.Or(f.conform.impl, f.conform.dut))
	return filepath.Join("runs", strings.Join([]string{time.Now().UTC().Format("20060102-150405"), "qualify", name, filepath.Base(f.profile), f.conform.bench}, "-"))
}

// execute runs the scenarios and the targets, and concludes.
func (f *qualifyFlags) execute(ctx context.Context, p *profiles.Profile, folder string) error {
	started := time.Now()
	k := &f.conform
	k.suite = suite.Options{LabelFilter: p.Filter()}
	b := benchOnDemand{name: k.bench}
	k.views = f.own
	table, selected, err := k.register(&b)
	if err != nil {
		return err
	}
	e := newEvidence(f, p, table)
	if err := e.eligible(); err != nil {
		return usage(err)
	}
	if b.Bench == nil {
		if err := b.open(); err != nil {
			return err
		}
	}
	if err := emptyFolder(folder); err != nil {
		return exit{exitBroken, err.Error()}
	}
	k.out, k.judged, k.ended = filepath.Join(folder, "scenarios"), append(k.judged, e.judged), e.ended
	if err := k.play(&b, table, selected); err != nil {
		return err
	}
	q := e.qualification(folder)
	if err := f.measure(ctx, p, &b, q); err != nil {
		return exit{exitBroken, err.Error()}
	}
	q.Started, q.Wall = started.UTC().Format(time.RFC3339), time.Since(started).Seconds()
	q.Settle()
	interrupted := ctx.Err() != nil || table.done < len(selected)
	return f.conclude(q, interrupted)
}

// own is what an outcome says of the subject alone: with another implementation at B, what that breaks is not the subject's
// doing. The peer of a device is the reference itself, or the device again.
func (f *qualifyFlags) own(o *suite.Outcome) *suite.Outcome {
	k := &f.conform
	if k.dut != "" || k.peer == "" || k.peer == k.impl {
		return o
	}
	return o.Of(trace.A)
}

// emptyFolder makes the report folder. One that holds a qualification is not overwritten.
func emptyFolder(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "qualification.json")); err == nil {
		return fmt.Errorf("qualify: %s already holds a qualification; choose another folder or remove it", dir)
	}
	return os.MkdirAll(dir, 0o755)
}

// conclude writes the files, prints the verdict and turns it into the exit code. An interrupted run qualifies nobody.
func (f *qualifyFlags) conclude(q *model.Qualification, interrupted bool) error {
	if interrupted {
		q.Status, q.Qualified = "ERROR", false
		q.Reasons = append(q.Reasons, "interrupted before all scenarios and targets had been run")
	}
	err := writeQualification(q)
	if f.json {
		err = errors.Join(err, encode(os.Stdout, q))
	} else {
		err = errors.Join(err, terminal.Qualification(os.Stdout, q, terminal.Options{Color: colored(f.conform.color, os.Stdout)}))
	}
	switch {
	case err != nil:
		return exit{exitBroken, err.Error()}
	case q.Qualified:
		return nil
	case q.Undecided():
		return exit{code: exitBroken}
	}
	return exit{code: exitFailure}
}

// writeQualification writes the documents of the report folder.
func writeQualification(q *model.Qualification) error {
	var errs []error
	for name, write := range map[string]func(io.Writer) error{
		"qualification.json": func(w io.Writer) error { return encode(w, q) },
		"qualification.html": func(w io.Writer) error { return html.Qualification(w, q) },
		"junit.xml":          func(w io.Writer) error { return junit.Qualification(w, q) },
		"capabilities.json":  func(w io.Writer) error { return encode(w, q.Capabilities) },
	} {
		errs = append(errs, writeFile(filepath.Join(q.Folder, name), write))
	}
	return errors.Join(errs...)
}
