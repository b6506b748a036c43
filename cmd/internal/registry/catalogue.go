// Package registry finds implementations and benches by the names that commands take. An implementation is an engine of
// this repository, a program or an image by images/CONTRACT.md, which is asked for its capabilities, or the kernel's
// soft-RoCE. Names and combinations that cannot work are refused here, before any run, as the user's mistake.
//
// It runs no Spec: package run and the packages that combine several runs do.
package registry

import (
	"fmt"
	"path/filepath"
	"slices"
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

// Catalogue finds implementations by name: the engines of this repository, "exec:PATH" and "image:NAME", which are
// programs that keep images/CONTRACT.md, and devices such as "rxe", the kernel's soft-RoCE. It holds the capabilities
// of programs, each of which is asked once.
type Catalogue map[string]*contract.Capabilities

// Find looks an implementation up. An unknown name is the user's mistake. A program that does not keep the contract is
// an error here, before any run.
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
		if fault.Of(err) == fault.None {
			err = fault.Broken(err)
		}
		if err != nil {
			return engine.Implementation{}, err
		}
		c[name] = caps
	}
	return declared(name, c[name]), nil
}

// declared converts the capabilities of a program to an entry of the registry.
func declared(name string, caps *contract.Capabilities) engine.Implementation {
	impl := engine.Implementation{
		Name: name, Title: caps.Program + " " + caps.Version, Source: "a program, by images/CONTRACT.md",
		Recover: caps.Recovery, Features: caps.Declared(),
	}
	if scheme := Schemes()[caps.Recovery]; scheme.OverIP() {
		impl.Accepts = scheme.Accepts // its packets are those of the scheme, and not RoCEv2
	}
	for _, scheme := range all.Implementations() {
		if scheme.QueueDepth != nil && includes(impl.Features, scheme.Features) {
			impl.QueueDepth = scheme.QueueDepth // the operator's choice, whatever the program is
		}
	}
	for _, p := range strings.Fields(caps.Params) {
		impl.Params = append(impl.Params, engine.Param{Name: p, Meaning: "see the program"})
	}
	return impl
}

// includes reports whether features include all others.
func includes(features, others []string) bool {
	return !slices.ContainsFunc(others, func(w string) bool { return !slices.Contains(features, w) })
}

// Lacks names what a Spec needs and the program at one of its ends does not declare, "" when nothing is missing.
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

// Short returns a name for use in file names.
func Short(name string) string {
	if scenario.Foreign(name) {
		_, path, _ := strings.Cut(name, ":")
		return strings.ReplaceAll(filepath.Base(path), ":", "-") // replaces the colon before the tag of an image
	}
	return name
}

// Schemes returns the implementations of this repository by name, and by recovery scheme the first that has it.
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
