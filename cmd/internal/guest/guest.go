// Package guest runs a command in a guest of package lab: any command, or this program's own command line, with the
// files that it reads, the programs that it starts and the folders that it writes. In the guest the bench "lab" is the
// netns bench of the guest's kernel.
package guest

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// Options configure a guest.
type Options struct {
	Kernel        string        // image to boot, with its Modules; "" for the kernel fetched last
	Modules       string        // folder of that kernel's modules
	Console       string        // file for the kernel messages of the guest; "" discards them
	Deterministic bool          // count instructions instead of time
	Memory        int           // MiB
	Limit         time.Duration // after which the guest is ended; with Deterministic, in guest time
	With          []string      // programs by name, files and folders by path, that the user adds to the guest

	drivers, programs []string // needs of the command: kernel modules, and programs or files
}

// Command is a command line of this program to be run in the guest.
type Command struct {
	Args    []string // after the program's name
	Seed    uint64   // of all random choices in a deterministic guest
	Files   []string // that the command reads
	Outputs []string // files and folders that the command writes; they are copied back
}

// Carry adds what implementations need in the guest: programs, and the modules and tools of a device.
func (o *Options) Carry(names ...string) {
	for _, n := range names {
		path, program := strings.CutPrefix(n, scenario.Exec)
		switch {
		case program:
			// a path without a slash would be searched for among the programs
			if abs, err := filepath.Abs(path); err == nil {
				path = abs
			}
			o.programs = append(o.programs, path)
		case n == dut.Name:
			o.drivers, o.programs = append(o.drivers, dut.Modules()...), append(o.programs, dut.Files()...)
		}
	}
}

// Tapes returns the paths of the loss tapes of a Spec.
func Tapes(s *scenario.Spec) (files []string) {
	for _, l := range []spec.Link{s.Link.AB, s.Link.BA} {
		if l.Loss.File != "" {
			files = append(files, filepath.Clean(l.Loss.File))
		}
	}
	return files
}

// Existing returns the names that are regular files.
func Existing(names []string) (files []string) {
	for _, n := range names {
		if info, err := os.Stat(n); err == nil && info.Mode().IsRegular() {
			files = append(files, n)
		}
	}
	return files
}

// Absolute makes paths absolute.
func Absolute(paths []string) (out []string, err error) {
	for _, p := range paths {
		if p, err = filepath.Abs(p); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}
