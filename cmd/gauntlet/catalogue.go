package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
)

// catalogue finds implementations by their names: the engines of this repository, "exec:PATH" and "image:NAME", programs that
// keep images/CONTRACT.md, and "rxe", the kernel's. A program is asked once what it can do.
type catalogue map[string]*contract.Capabilities

// find looks an implementation up. A program that does not keep the contract is refused here, before anything counts.
func (c catalogue) find(name string) (engine.Implementation, error) {
	if name == dut.Name {
		return dut.Implementation(), nil
	}
	if !scenario.Foreign(name) {
		impl, ok := all.Find(name)
		if !ok {
			return impl, usage(fmt.Errorf("implementation %q: unknown; known: %s, or %sPATH for a program, or %sNAME", name,
				strings.Join(all.Names(), " "), scenario.Exec, scenario.Image))
		}
		return impl, nil
	}
	if c[name] == nil {
		caps, err := ask(name)
		if err != nil {
			return engine.Implementation{}, exit{exitBroken, err.Error()}
		}
		c[name] = caps
	}
	return declared(name, c[name])
}

// declared makes an entry of the registry of what a program says of itself.
func declared(name string, caps *contract.Capabilities) (impl engine.Implementation, err error) {
	impl = engine.Implementation{
		Name: name, Title: caps.Program + " " + caps.Version, Source: "a program, by images/CONTRACT.md",
		Recover: caps.Recovery, Features: strings.Fields(caps.Features),
	}
	var contained bool
	if impl.Image, contained = strings.CutPrefix(name, scenario.Image); !contained {
		impl.Image = ""
		if impl.Program, err = filepath.Abs(strings.TrimPrefix(name, scenario.Exec)); err != nil {
			return impl, usage(err)
		}
	}
	for _, p := range strings.Fields(caps.Params) {
		impl.Params = append(impl.Params, engine.Param{Name: p, Meaning: "see the program"})
	}
	return impl, nil
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
	if scenario.Foreign(name) {
		_, path, _ := strings.Cut(name, ":")
		return strings.ReplaceAll(filepath.Base(path), ":", "-") // the tag of an image
	}
	return name
}
