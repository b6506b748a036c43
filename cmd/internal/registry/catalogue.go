// Package registry finds what commands name: implementations and benches. An implementation is an engine of this
// repository, a program or an image by images/CONTRACT.md, which is asked what it can do, or the kernel's soft-RoCE.
// What cannot be is refused here, before anything runs, as the user's mistake.
//
// It runs no Spec: that is for package run, and for those who put several runs together.
package registry

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
)

// Catalogue finds implementations by their names: the engines of this repository, "exec:PATH" and "image:NAME",
// programs that keep images/CONTRACT.md, and "rxe", the kernel's. A program is asked once what it can do.
type Catalogue map[string]*contract.Capabilities

// Find looks an implementation up. A name that is not known is the user's fault. A program that does not keep the
// contract is refused here, before anything counts.
func (c Catalogue) Find(name string) (engine.Implementation, error) {
	if dut.Known(name) {
		return dut.Describe(name), nil
	}
	if !scenario.Foreign(name) {
		impl, ok := all.Find(name)
		if !ok {
			return impl, fault.Usage(fmt.Errorf(
				"implementation %q: unknown; known: %s, or %sPATH for a program, or %sNAME",
				name, strings.Join(all.Names(), " "), scenario.Exec, scenario.Image))
		}
		return impl, nil
	}
	if c[name] == nil {
		caps, err := Ask(name)
		if err != nil {
			return engine.Implementation{}, fault.Broken(err)
		}
		c[name] = caps
	}
	return declared(name, c[name]), nil
}

// declared makes an entry of the registry of what a program says of itself.
func declared(name string, caps *contract.Capabilities) engine.Implementation {
	impl := engine.Implementation{
		Name: name, Title: caps.Program + " " + caps.Version, Source: "a program, by images/CONTRACT.md",
		Recover: caps.Recovery, Features: strings.Fields(caps.Features),
	}
	for _, p := range strings.Fields(caps.Params) {
		impl.Params = append(impl.Params, engine.Param{Name: p, Meaning: "see the program"})
	}
	return impl
}

// Lacks names what a Spec needs and the program at one of its sides does not declare, "" when nothing.
func (c Catalogue) Lacks(s *scenario.Spec) string {
	for side, name := range s.Impl {
		if caps := c[name]; caps != nil {
			if what := caps.Lacks(drive.Needs(s, trace.Side(side), false)); what != "" {
				return fmt.Sprintf("%s does not declare %s", name, what)
			}
		}
	}
	return ""
}

// Short is a name as a part of a file's name.
func Short(name string) string {
	if scenario.Foreign(name) {
		_, path, _ := strings.Cut(name, ":")
		return strings.ReplaceAll(filepath.Base(path), ":", "-") // the tag of an image
	}
	return name
}

// Schemes lists the implementations of this repository by name, and by their recovery schemes: the first of each.
func Schemes() map[string]engine.Implementation {
	m := map[string]engine.Implementation{}
	for _, i := range all.Implementations() {
		if _, taken := m[i.Recover]; !taken {
			m[i.Recover] = i
		}
	}
	for _, i := range all.Implementations() {
		m[i.Name] = i
	}
	return m
}
