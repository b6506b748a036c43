package gate

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
)

// Version is the only version of the format of a gate file that there is.
const Version = 1

// Bounds of a file.
const (
	maxLines  = 1000
	maxLine   = 4096
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
	Link       string        // of benches in real time: "auto", "netem" or "relay"
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
	f := Default()
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	n, seen := 0, map[string]bool{}
	for in.Scan() {
		n++
		line := strings.TrimSpace(in.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if err := f.line(line, n, seen); err != nil {
			return nil, fmt.Errorf("%d: %w", n, err)
		}
	}
	err := in.Err()
	switch {
	case err != nil:
		err = fmt.Errorf("line longer than %d bytes, or unreadable: %w", maxLine, err)
	case len(seen) == 0:
		err = fmt.Errorf("no statement; want %q first", first)
	default:
		err = f.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%d: %w", n, err)
	}
	return f, nil
}

// first is the first statement of a file.
var first = fmt.Sprintf("gate %d", Version)

// line takes in a statement. Each verb is there once, and the version before all others.
func (f *File) line(line string, n int, seen map[string]bool) error {
	verb, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	words := strings.Fields(rest)
	switch begun := seen["gate"]; {
	case n > maxLines:
		return fmt.Errorf("more than %d lines", maxLines)
	case !begun && (verb != "gate" || len(words) != 1):
		return fmt.Errorf("%s: want %q as the first statement", quote.Line(line, quote.Name), first)
	case !begun && rest != strconv.Itoa(Version):
		return fmt.Errorf("gate %s: this program reads version %d", quote.Line(rest, quote.Name), Version)
	case seen[verb]:
		return fmt.Errorf("%s: given twice; keep one line", quote.Line(verb, quote.Name))
	case rest == "":
		return fmt.Errorf("%s: want a value behind it", quote.Line(verb, quote.Name))
	}
	seen[verb] = true
	if verb == "gate" {
		return nil
	}
	read := f.verbs()[verb]
	if read == nil {
		return fmt.Errorf(
			"%s: unknown; want one of baseline bench budget device impl link links "+
				"margin profile scenarios seeds targets waivers",
			quote.Line(verb, quote.Name),
		)
	}
	if err := read(words, rest); err != nil {
		return fmt.Errorf("%s %s: %w", verb, quote.Line(rest, quote.Name), err)
	}
	return nil
}

// verbs are what reads the words of each verb, and all that is behind it.
func (f *File) verbs() map[string]func(words []string, rest string) error {
	list := func(into *[]string) func([]string, string) error {
		return func(words []string, _ string) error { *into = words; return nil }
	}
	word := func(into *string) func([]string, string) error {
		return func(words []string, rest string) error {
			if *into = rest; len(words) != 1 {
				return fmt.Errorf("want one word")
			}
			return nil
		}
	}
	return map[string]func([]string, string) error{
		"impl": f.impl, "device": word(&f.Device), "bench": list(&f.Benches), "link": word(&f.Link),
		"profile":   list(&f.Profiles),
		"scenarios": func(_ []string, rest string) error { f.Scenarios = rest; return nil },
		"links":     list(&f.Links), "targets": list(&f.Targets), "waivers": list(&f.Waivers), "baseline": word(&f.Baseline),
		"budget": func(_ []string, rest string) error {
			minutes, err := number(rest, 1, maxBudget)
			f.Budget = time.Duration(minutes) * time.Minute
			return err
		},
		"seeds": func(_ []string, rest string) (err error) { f.Seeds, err = number(rest, 1, maxSeeds); return err },
		"margin": func(_ []string, rest string) error {
			m, err := unit.ParseRatio(rest)
			f.Margin = float64(m)
			return err
		},
	}
}

// impl reads the implementation and its peer, as the Spec has them.
func (f *File) impl(words []string, _ string) error {
	if len(words) > 2 {
		return fmt.Errorf("want one implementation, or two: at A, which is gated, and at B")
	}
	f.Impl = words[0]
	if len(words) == 2 && words[1] != words[0] {
		f.Peer = words[1]
	}
	return nil
}

func number(text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("want %d to %d", least, most)
	}
	return n, nil
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
	case f.Link != "auto" && f.Link != "netem" && f.Link != "relay":
		return fmt.Errorf("link %s: want auto, netem or relay", quote.Line(f.Link, quote.Name))
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
