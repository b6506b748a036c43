package night

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/builds"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/statement"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// Version is the only version of the format of a plan that there is.
const Version = 1

// Bounds of a plan.
const (
	maxBudget = 24 * 60 // minutes
	maxRepeat = 100
)

// Plan is what a night does, as text:
//
//	night 1
//	store nights
//	budget 60
//	matrix --impl gbn,irn --links clean,random
//	conform --impl gbn
type Plan struct {
	Store    string        // folder of earlier nights, and of this one
	Site     string        // folder of the pages that the night writes at its end; "" writes none
	Budget   time.Duration // nothing runs later than that; 0 is no limit
	Host     string        // "" is this machine's name
	Firmware string        // of the device
	Subject  string        // what is measured, as commands name it; "" is this program
	Pinned   string        // path of another build of it, beside which numbers in real time are measured
	Build    string        // command for a shell that builds a commit of it
	Repeat   int           // runs of a command in real time
	Steps    []Step
}

// Step is a command of this program.
type Step struct {
	Line int
	Args []string
}

// String is the step as people write it.
func (s *Step) String() string { return quote.Shell(s.Args...) }

// ReadPlan reads a plan; errors begin with the file's name and the line. Names of files in its statements begin at its
// folder, where the commands run too.
func ReadPlan(path string) (*Plan, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("night: %w", err)
	}
	defer in.Close()
	p, err := Parse(in)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	for _, folder := range []*string{&p.Store, &p.Site} {
		if *folder != "" && !filepath.IsAbs(*folder) {
			*folder = filepath.Join(filepath.Dir(path), *folder)
		}
	}
	if p.Pinned != "" && !filepath.IsAbs(p.Pinned) {
		p.Pinned, err = filepath.Abs(filepath.Join(filepath.Dir(path), p.Pinned))
	}
	return p, err
}

// Parse reads a plan. Every error is one line that names the line of the plan, the word and the remedy.
func Parse(r io.Reader) (*Plan, error) {
	p, minutes := &Plan{Store: "nights", Repeat: 5}, 0
	form := statement.Form{Name: "night", Version: Version, Verbs: map[string]func(string) error{
		"store":    statement.Word(&p.Store),
		"site":     statement.Word(&p.Site),
		"host":     statement.Word(&p.Host),
		"firmware": statement.Word(&p.Firmware),
		"subject":  statement.Word(&p.Subject),
		"pinned":   statement.Word(&p.Pinned),
		"build":    func(rest string) error { p.Build = rest; return nil },
		"budget":   statement.Number(&minutes, 1, maxBudget),
		"repeat":   statement.Number(&p.Repeat, 1, maxRepeat),
	}, Also: p.command, Kinds: ", or a command of " + strings.Join(builds.Verbs, " "), Check: p.check}
	if err := form.Read(r); err != nil {
		return nil, err
	}
	p.Budget = time.Duration(minutes) * time.Minute
	return p, nil
}

// check finds what is missing.
func (p *Plan) check() error {
	if len(p.Steps) == 0 {
		return errors.New("nothing to run; want a command such as: matrix --impl gbn")
	}
	return nil
}

// command takes in a line that is one.
func (p *Plan) command(verb, line string, n int) (taken bool, err error) {
	if !slices.Contains(builds.Verbs, verb) {
		return false, nil
	}
	return true, p.step(line, n)
}

// step takes in a command.
func (p *Plan) step(line string, n int) error {
	args, err := words(line)
	if err == nil {
		err = builds.Check(args)
	}
	p.Steps = append(p.Steps, Step{n, args})
	return err
}

// words splits a command as a shell does that knows quotes and nothing else.
func words(line string) (list []string, err error) {
	var word strings.Builder
	var in rune
	begun := false
	for _, c := range line {
		switch {
		case in != 0 && c == in:
			in = 0
		case in == 0 && (c == '\'' || c == '"'):
			in, begun = c, true
		case in == 0 && (c == ' ' || c == '\t'):
			if begun {
				list = append(list, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if in != 0 {
		return nil, fmt.Errorf("%s: a quote %c has no end", quote.Line(line, quote.Name), in)
	}
	if begun {
		list = append(list, word.String())
	}
	return list, nil
}
