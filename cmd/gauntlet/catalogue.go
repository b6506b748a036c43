package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
)

// catalogue finds implementations by their names: the engines of this repository, and "exec:PATH", a program that keeps
// images/CONTRACT.md. A program is asked once what it can do.
type catalogue map[string]*contract.Capabilities

// isProgram reports whether a name is that of a program.
func isProgram(name string) bool { return strings.HasPrefix(name, scenario.Exec) }

// find looks an implementation up. A program that does not keep the contract is refused here, before anything counts.
func (c catalogue) find(name string) (engine.Implementation, error) {
	path, program := strings.CutPrefix(name, scenario.Exec)
	if !program {
		impl, ok := all.Find(name)
		if !ok {
			return impl, usage(fmt.Errorf("implementation %q: unknown; known: %s, or %sPATH for a program", name, strings.Join(all.Names(), " "), scenario.Exec))
		}
		return impl, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return engine.Implementation{}, usage(err)
	}
	if c[name] == nil {
		caps, err := ask(path)
		if err != nil {
			return engine.Implementation{}, exit{exitBroken, err.Error()}
		}
		c[name] = caps
	}
	return declared(name, path, c[name]), nil
}

// declared makes an entry of the registry of what a program says of itself.
func declared(name, path string, caps *contract.Capabilities) engine.Implementation {
	impl := engine.Implementation{
		Name: name, Program: path, Title: caps.Program + " " + caps.Version, Source: "a program, by images/CONTRACT.md",
		Recover: caps.Recovery, Features: strings.Fields(caps.Features),
	}
	for _, p := range strings.Fields(caps.Params) {
		impl.Params = append(impl.Params, engine.Param{Name: p, Meaning: "see the program"})
	}
	return impl
}

// lacks names what a Spec needs and the program at one of its sides does not declare, "" when nothing.
func (c catalogue) lacks(s *scenario.Spec) string {
	for side, name := range s.Impl {
		if caps := c[name]; caps != nil {
			if what := caps.Lacks(drive.Needs(s, trace.Side(side), false)); what != "" {
				return fmt.Sprintf("%s does not declare %s", name, what)
			}
		}
	}
	return ""
}

// short is a name as a part of a file's name.
func short(name string) string {
	if path, ok := strings.CutPrefix(name, scenario.Exec); ok {
		return filepath.Base(path)
	}
	return name
}
