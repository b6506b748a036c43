package main

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/lab"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// guestFlags are the flags of every command that boots a guest.
type guestFlags struct {
	kernel, modules, console string
	deterministic            bool
	memory                   int
	limit                    time.Duration

	with              []string // what the user wants in the guest beside it
	drivers, programs []string // what the command needs in the guest beside itself: kernel modules, and what is brought along
}

// guestOnly names them, for benches that have no guest.
var guestOnly = []string{"kernel", "modules", "deterministic", "guest-memory", "guest-limit", "guest-console", "guest-with"}

func (f *guestFlags) define(c *cobra.Command) {
	d := c.Flags()
	d.StringVar(&f.kernel, "kernel", "", "lab: kernel image to boot, with --modules (default: the one fetched last)")
	d.StringVar(&f.modules, "modules", "", "lab: folder of that kernel's modules, such as /lib/modules/6.1.0-56-amd64")
	d.BoolVar(&f.deterministic, "deterministic", false, "lab: count instructions instead of time; the same command then gives the same bytes")
	d.IntVar(&f.memory, "guest-memory", lab.DefaultMemory, "lab: memory of the guest in MiB")
	d.DurationVar(&f.limit, "guest-limit", lab.DefaultLimit, "lab: end a guest that runs for longer, with --deterministic by its own clock")
	d.StringArrayVar(&f.with, "guest-with", nil, "lab: program by name, or file or folder by path, to take along; may be repeated")
	d.StringVar(&f.console, "guest-console", "", "lab: keep what the guest's kernel says in this file")
}

// carry takes along what implementations need in the guest: programs, and the modules and tools of a device.
func (f *guestFlags) carry(names ...string) {
	for _, n := range names {
		path, program := strings.CutPrefix(n, scenario.Exec)
		switch {
		case program:
			if abs, err := filepath.Abs(path); err == nil { // a path without a slash would be looked for elsewhere
				path = abs
			}
			f.programs = append(f.programs, path)
		case n == dut.Name:
			f.drivers, f.programs = append(f.drivers, dut.Modules()...), append(f.programs, dut.Files()...)
		}
	}
}

// tapes lists the files of a Spec.
func tapes(s *scenario.Spec) (files []string) {
	for _, l := range []spec.Link{s.Link.AB, s.Link.BA} {
		if l.Loss.File != "" {
			files = append(files, filepath.Clean(l.Loss.File))
		}
	}
	return files
}

// existing keeps the names that are files.
func existing(names []string) (files []string) {
	for _, n := range names {
		if info, err := os.Stat(n); err == nil && info.Mode().IsRegular() {
			files = append(files, n)
		}
	}
	return files
}
