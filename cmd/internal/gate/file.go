package gate

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/statement"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
)

// Version is the only version of the format of a gate file that there is.
const Version = 1

// Bounds of a file.
const (
	maxBudget = 24 * 60 // minutes
	maxSeeds  = 1000
)

// File is what is asked of a change before it is merged, as text in the repository of whoever owns the subject:
//
//	gate 1
//	impl exec:build/transport
//	profile rc-gbn
//	budget 10
type File struct {
	Impl, Peer string        // who is gated, and who is at B; "" is the same
	Device     string        // in place of Impl
	Benches    []string      // where; none is what the subject can run on
	Link       string        // of benches in real time: "auto", "netem", "ebpf" or "relay"
	Profiles   []string      // whose core rules have to be seen to hold, and whose targets are measured
	Scenarios  string        // label filter; "" is those of the profiles, or all
	Links      []string      // of the matrix, names or files; "none" alone is none
	Targets    []string      // claims of the papers
	Waivers    []string      // names or files
	Baseline   string        // the gate.json of main; "" is none
	Budget     time.Duration // no run begins later than that; 0 is no limit
	Seeds      int           // of numbers in which chance has a part
	Margin     float64       // relative change of a number that does not matter
}

// Default is what is asked where no file says otherwise.
func Default() *File {
	return &File{Link: "auto", Budget: 15 * time.Minute, Seeds: 12, Margin: 0.01}
}

// ReadFile reads a gate file; errors begin with the file's name and the line. Names of files in it begin at its folder.
func ReadFile(path string) (*File, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	defer in.Close()
	f, err := Parse(in)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	f.below(filepath.Dir(path))
	return f, nil
}

// Parse reads a gate file. Every error is one line that names the line of the file, the word and the remedy.
func Parse(r io.Reader) (*File, error) {
	f, minutes := Default(), 0
	form := statement.Form{Name: "gate", Version: Version, Check: f.check, Verbs: map[string]func(string) error{
		"impl":      f.impl,
		"device":    statement.Word(&f.Device),
		"bench":     statement.Words(&f.Benches),
		"link":      statement.Word(&f.Link),
		"profile":   statement.Words(&f.Profiles),
		"scenarios": func(rest string) error { f.Scenarios = rest; return nil },
		"links":     statement.Words(&f.Links),
		"targets":   statement.Words(&f.Targets),
		"waivers":   statement.Words(&f.Waivers),
		"baseline":  statement.Word(&f.Baseline),
		"budget":    statement.Number(&minutes, 1, maxBudget),
		"seeds":     statement.Number(&f.Seeds, 1, maxSeeds),
		"margin": func(rest string) error {
			m, err := unit.ParseRatio(rest)
			f.Margin = float64(m)
			return err
		},
	}}
	if err := form.Read(r); err != nil {
		return nil, err
	}
	if minutes > 0 {
		f.Budget = time.Duration(minutes) * time.Minute
	}
	return f, nil
}

// impl reads the implementation and its peer, as the Spec has them.
func (f *File) impl(rest string) error {
	words := strings.Fields(rest)
	if len(words) > 2 {
		return fmt.Errorf("want one implementation, or two: at A, which is gated, and at B")
	}
	f.Impl = words[0]
	if len(words) == 2 && words[1] != words[0] {
		f.Peer = words[1]
	}
	return nil
}

// check finds what is missing, or cannot be together.
func (f *File) check() error {
	switch {
	case f.Impl == "" && f.Device == "":
		return fmt.Errorf("no subject; want a line such as: impl exec:build/transport")
	case f.Impl != "" && f.Device != "":
		return fmt.Errorf(
			"impl %s and device %s: name one of the two",
			quote.Line(f.Impl, quote.Name),
			quote.Line(f.Device, quote.Name),
		)
	case strings.Contains(f.Impl+f.Peer, ","):
		return fmt.Errorf("impl %s: want one implementation; one file gates one", quote.Line(f.Impl, quote.Name))
	case !slices.Contains([]string{"auto", "netem", "ebpf", "relay"}, f.Link):
		return fmt.Errorf("link %s: want auto, netem, ebpf or relay", quote.Line(f.Link, quote.Name))
	}
	return nil
}

// below lets the names of files begin at the folder of the gate file. What has neither a dot nor a slash is a name.
func (f *File) below(dir string) {
	move := func(path *string) {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
	program := func(name *string) {
		if path, ok := strings.CutPrefix(*name, scenario.Exec); ok {
			move(&path)
			*name = scenario.Exec + path
		}
	}
	program(&f.Impl)
	program(&f.Peer)
	move(&f.Baseline)
	for _, list := range [][]string{f.Profiles, f.Links, f.Waivers} {
		for i := range list {
			if strings.ContainsAny(list[i], "./") {
				if move(&list[i]); !strings.ContainsAny(list[i], "/") {
					list[i] = "./" + list[i]
				}
			}
		}
	}
}

// Files are those that the gate reads, for whoever has to take them along.
func (f *File) Files() (paths []string) {
	for _, list := range [][]string{f.Profiles, f.Links, f.Waivers, {f.Baseline}} {
		for _, name := range list {
			if strings.ContainsAny(name, "./") {
				paths = append(paths, name)
			}
		}
	}
	return paths
}
