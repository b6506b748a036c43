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

// Version is the only version of the gate file format so far.
const Version = 1

// Limits of a gate file.
const (
	maxBudget = 24 * 60 // minutes
	maxSeeds  = 1000
)

// File is the text that defines the tests of a change before it is merged. It is in the repository of the subject's
// owner:
//
//	gate 1
//	impl exec:build/transport
//	profile rc-gbn
//	budget 10
type File struct {
	Impl, Peer string        // names of the subject, at A, and of its peer, at B; no Peer means the subject itself
	Device     string        // name of a device, in place of Impl
	Benches    []string      // none means the first one that the subject can run on, see Places
	Link       string        // of benches in real time: "auto", "netem", "ebpf" or "relay"
	Profiles   []string      // profiles whose core rules have to be exercised and hold, and whose targets are measured
	Scenarios  string        // label filter; "" selects the scenarios of the profiles, or all
	Links      []string      // of the matrix, names or files; "none" alone means no links
	Targets    []string      // claims of the papers to measure
	Waivers    []string      // names or files
	Baseline   string        // path of the gate.json of main; "" for none
	Budget     time.Duration // no run begins after this time; 0 for no limit
	Seeds      int           // per number that depends on chance
	Margin     float64       // the relative change of a number that is tolerated
}

// Default returns the values that apply unless a gate file overrides them.
func Default() *File {
	return &File{Link: "auto", Budget: 15 * time.Minute, Seeds: 12, Margin: 0.01}
}

// ReadFile reads a gate file. Errors begin with the file's name and the line. Relative paths in the file begin at its
// folder.
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

// impl reads the subject and its peer, as the line impl of a Spec.
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

// check returns an error for a subject that is missing or ambiguous, or an unknown link.
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

// below makes the relative paths of the file begin at dir. A word without a dot or a slash is a name, not a path.
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

// Files lists the files that the gate reads, for callers that copy them.
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
