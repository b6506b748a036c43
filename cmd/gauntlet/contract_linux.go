package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

func checkContractCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check-contract PROGRAM | image:NAME",
		Short: "Walk a program through images/CONTRACT.md, step by step",
		Long: `Walk a program, or that of a container image, through images/CONTRACT.md, step by step, and stop at the first that it fails, with what is wrong.

The last steps let it talk to go-back-N over a link that loses nothing; what it does with loss is for conform to say.
Exit codes: 0 it keeps the contract; 1 it does not; 3 the machine was too busy to tell.`,
		Example: "  gauntlet check-contract images/example-c/gbn\n  gauntlet check-contract image:gauntlet/example-c",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			check := &contractCheck{name: args[0], where: "container", out: os.Stdout}
			if !strings.HasPrefix(args[0], scenario.Image) {
				check.name, check.where = scenario.Exec+strings.TrimPrefix(args[0], scenario.Exec), "netns"
			}
			var err error
			if check.bench, err = findBench(check.where, ""); err != nil {
				return err
			}
			return check.walk(c.Context())
		},
	}
}

// contractCheck is the walk of one program.
type contractCheck struct {
	name  string // as of an implementation
	where string // it is run: the name of the bench
	bench bench.Bench
	out   io.Writer
	caps  *contract.Capabilities
}

// walk takes the steps up to the first that fails.
func (c *contractCheck) walk(ctx context.Context) error {
	steps := []struct {
		name string
		do   func(context.Context) (string, error)
	}{
		{"says capabilities, and refuses what does not exist", c.introduce},
		{"ends when its standard input does", c.ends(func(p *contract.Program) error { return p.Stdin.Close() })},
		{"ends on SIGTERM", c.ends(func(p *contract.Program) error { return p.Signal(syscall.SIGTERM) })},
		{"answers the requests of gbn", c.talk(1)},
		{"has its requests answered by gbn", c.talk(0)},
	}
	for i, s := range steps {
		note, err := s.do(ctx)
		if err != nil {
			fmt.Fprintf(c.out, "FAIL  %d of %d  %s\n      %s\n", i+1, len(steps), s.name, strings.ReplaceAll(err.Error(), "\n", "; "))
			return exit{code: failed(err)}
		}
		fmt.Fprintf(c.out, "ok    %d of %d  %s%s\n", i+1, len(steps), s.name, note)
	}
	return nil
}

// failed is the exit code of a step: the program's fault, unless the machine was at fault.
func failed(err error) int {
	if e, ok := err.(exit); ok {
		return e.code
	}
	return exitFailure
}

func (c *contractCheck) introduce(context.Context) (note string, err error) {
	if c.caps, err = ask(c.name); err != nil {
		return "", err
	}
	return fmt.Sprintf(": %s %s, requests %s, answers %s", c.caps.Program, c.caps.Version, c.caps.Operations, c.caps.Serves), nil
}

func (c *contractCheck) ends(how func(*contract.Program) error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		p, err := startForeign(c.name)
		if err != nil {
			return "", err
		}
		return "", contract.EndsWith(p, how)
	}
}

// talk runs a few messages with the program at one side, and go-back-N at the other.
func (c *contractCheck) talk(side int) func(context.Context) (string, error) {
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
		for attempt := 1; ; attempt++ {
			r, err := c.run(ctx, s)
			if r == nil || r.Status != rule.Invalid.String() {
				return "", verdict(r, err)
			}
			if attempt == attempts {
				return "", exit{exitBroken, "INVALID: " + r.Reason}
			}
		}
	}
}

// operation is one that a load can consist of.
func operation(declared string) string {
	for _, op := range strings.Fields(declared) {
		if op == "WRITE" || op == "SEND" {
			return strings.ToLower(op)
		}
	}
	return ""
}

// spec is a short run over a slow line. The MTU is the first that the program has.
func (c *contractCheck) spec(side int, op string) (*scenario.Spec, error) {
	names := [2]string{"gbn", "gbn"}
	names[side] = c.name
	return scenario.Parse(strings.NewReader(fmt.Sprintf("impl %s %s\nlink rate=10M delay=2ms\nqp rto=100ms mtu=%s\nload %s msg=10000 count=10\nrun limit=20s\n",
		names[0], names[1], strings.Fields(c.caps.MTUs)[0], op)))
}

func (c *contractCheck) run(ctx context.Context, s *scenario.Spec) (*model.Result, error) {
	impls, err := implementations(s)
	if err != nil {
		return nil, err
	}
	return run.Execute(ctx, run.Options{Spec: s, Bench: c.bench, Name: c.where, Impls: impls, Rules: rules.All(), Link: "auto", Version: version(), Commit: commit()})
}

// verdict is what is wrong with a run, in one line: the run itself, or the first required rule that it broke.
func verdict(r *model.Result, err error) error {
	switch {
	case err != nil:
		return err
	case r.Status == rule.Error.String():
		return fmt.Errorf("%s", r.Reason)
	}
	for _, v := range r.Verdicts {
		if v.Status == rule.Fail && v.Required {
			return fmt.Errorf("%s: %s: %s", v.Rule, v.Title, v.Findings[0].Text)
		}
	}
	return nil
}
