// Package contractcheck checks a program against images/CONTRACT.md step by step: its capabilities, how it ends, and
// whether it serves requests of a built-in engine, and has its own served, over a link without loss. Package conform
// tests behaviour under loss.
package contractcheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Options name the program and the bench.
type Options struct {
	Name     string // name of the implementation: exec:PATH or image:NAME
	Where    string // name of the bench: netns, or container for an image
	Bench    bench.Bench
	Attempts int // how often a step is run at most until its result is not INVALID
}

// Step is the result of one step.
type Step struct {
	Number, Of int
	Name       string
	Note       string // capabilities of the program, or the reason why there was nothing to do
	Err        error  // a defect of the program; an error of package fault is the machine's or the user's
}

// check is the state of the check of one program.
type check struct {
	Options
	caps *contract.Capabilities
}

// Open returns the options for a program: exec:PATH or PATH runs between namespaces, image:NAME in a container.
func Open(name string, attempts int) (Options, error) {
	o := Options{Name: name, Where: "container", Attempts: attempts}
	if !strings.HasPrefix(name, scenario.Image) {
		o.Name, o.Where = scenario.Exec+strings.TrimPrefix(name, scenario.Exec), "netns"
	}
	var err error
	o.Bench, err = registry.Open(o.Where, "")
	return o, err
}

// Print writes a line with the result of the step, and after a failure another with the error.
func (s *Step) Print(out io.Writer) {
	if s.Err != nil {
		fmt.Fprintf(out, "FAIL  %d of %d  %s\n      %s\n", s.Number, s.Of, s.Name, fault.OneLine(s.Err))
		return
	}
	fmt.Fprintf(out, "ok    %d of %d  %s%s\n", s.Number, s.Of, s.Name, s.Note)
}

// Walk runs the steps up to the first that fails, and calls took with each. It returns the error of that step.
func Walk(ctx context.Context, o Options, took func(Step)) error {
	c := &check{Options: o}
	steps := []struct {
		name string
		do   func(context.Context) (string, error)
	}{
		{"says capabilities, and refuses what does not exist", c.introduce},
		{"ends when its standard input does", c.ends(func(p *contract.Program) error { return p.Stdin.Close() })},
		{"ends on SIGTERM", c.ends(func(p *contract.Program) error { return p.Signal(syscall.SIGTERM) })},
		{"answers the requests of a built-in engine", c.talk(1)},
		{"has its requests answered by a built-in engine", c.talk(0)},
	}
	for i, s := range steps {
		note, err := s.do(ctx)
		took(Step{Number: i + 1, Of: len(steps), Name: s.name, Note: note, Err: err})
		if err != nil {
			return err
		}
	}
	return nil
}

// introduce asks the program for its capabilities.
func (c *check) introduce(context.Context) (note string, err error) {
	if c.caps, err = registry.Ask(c.Name); err != nil {
		return "", err
	}
	return fmt.Sprintf(": %s %s, requests %s, answers %s", c.caps.Program, c.caps.Version, c.caps.Operations,
		c.caps.Serves), nil
}

// ends returns a step in which the program has to exit after how.
func (c *check) ends(how func(*contract.Program) error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		p, err := registry.Start(c.Name)
		if err != nil {
			return "", err
		}
		return "", contract.EndsWith(p, how)
	}
}

// talk returns a step that runs a few messages between the program at one side and its peer at the other.
func (c *check) talk(side int) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		list := [2]string{c.caps.Operations, c.caps.Serves}[side]
		op := operation(list)
		if op == "" {
			return ": nothing to do, it declares neither SEND nor WRITE", nil
		}
		s, err := c.spec(side, op)
		if err != nil {
			return "", err
		}
		r, err := run.Repeat(ctx, c.Attempts, func(t run.Try) (*model.Result, error) { return c.run(ctx, s, t) })
		if r != nil && r.Status == rule.Invalid.String() && r.Fault == nil {
			return "", fault.Broken(errors.New("INVALID: " + r.Reason))
		}
		return "", verdict(r, err)
	}
}

// peer returns the engine that a program can talk to: go-back-N, and over IP the one of its own scheme.
func peer(caps *contract.Capabilities) string {
	if scheme := registry.Schemes()[caps.Recovery]; scheme.OverIP() {
		return scheme.Name
	}
	return "gbn"
}

// operation returns the first declared operation that a load can use, "" if there is none.
func operation(declared string) string {
	for _, op := range strings.Fields(declared) {
		if op == "WRITE" || op == "SEND" {
			return strings.ToLower(op)
		}
	}
	return ""
}

// spec returns a short run over a slow link, with the first MTU of the program.
func (c *check) spec(side int, op string) (*scenario.Spec, error) {
	names := [2]string{peer(c.caps), peer(c.caps)}
	names[side] = c.Name
	return scenario.Parse(strings.NewReader(fmt.Sprintf("impl %s %s\nlink rate=10M delay=2ms\nqp rto=100ms "+
		"mtu=%s\nload %s msg=10000 count=10\nrun limit=20s\n",
		names[0], names[1], strings.Fields(c.caps.MTUs)[0], op)))
}

func (c *check) run(ctx context.Context, s *scenario.Spec, t run.Try) (*model.Result, error) {
	impls, err := registry.Ends(s)
	if err != nil {
		return nil, err
	}
	return run.Execute(ctx, run.Options{Spec: s, Bench: c.Bench, Name: c.Where, Impls: impls,
		Rules: rules.All(), Link: "auto",
		Least: t.Least, Version: build.Version(), Commit: build.Commit()})
}

// verdict returns the failure of a run: that of the run itself, or the first required rule that it broke.
func verdict(r *model.Result, err error) error {
	switch {
	case err != nil:
		return err
	case r.Fault != nil: // reported before INVALID: a program that takes the processor from the link may have spoilt it
		return errors.New(r.Fault.What)
	case r.Status == rule.Error.String():
		return errors.New(r.Reason)
	}
	for _, v := range r.Verdicts {
		if v.Status == rule.Fail && v.Required {
			return fmt.Errorf("%s: %s: %s (%s)", v.Rule, v.Title, v.Findings[0].Line(), v.Explain)
		}
	}
	return nil
}
