package night

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/builds"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// Version is the only version of the format of a plan that there is.
const Version = 1

// Bounds of a plan.
const (
	maxLines  = 1000
	maxLine   = 4096
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
func (s *Step) String() string { return strings.Join(s.Args, " ") }

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
	if !filepath.IsAbs(p.Store) {
		p.Store = filepath.Join(filepath.Dir(path), p.Store)
	}
	if p.Pinned != "" && !filepath.IsAbs(p.Pinned) {
		p.Pinned, err = filepath.Abs(filepath.Join(filepath.Dir(path), p.Pinned))
	}
	return p, err
}

// Parse reads a plan. Every error is one line that names the line of the plan, the word and the remedy.
func Parse(r io.Reader) (*Plan, error) {
	p := &Plan{Store: "nights", Repeat: 5}
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	n, seen := 0, map[string]bool{}
	for in.Scan() {
		n++
		line := strings.TrimSpace(in.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if err := p.line(line, n, seen); err != nil {
			return nil, fmt.Errorf("%d: %w", n, err)
		}
	}
	err := in.Err()
	switch {
	case err != nil:
		err = fmt.Errorf("line longer than %d bytes, or unreadable: %w", maxLine, err)
	case !seen["night"]:
		err = fmt.Errorf("no statement; want %q first", first)
	case len(p.Steps) == 0:
		err = fmt.Errorf("nothing to run; want a command such as: matrix --impl gbn")
	}
	if err != nil {
		return nil, fmt.Errorf("%d: %w", n, err)
	}
	return p, nil
}

// first is the first statement of a plan.
var first = fmt.Sprintf("night %d", Version)

// line takes in a statement or a command. Each statement is there once, and the version before everything.
func (p *Plan) line(line string, n int, seen map[string]bool) error {
	verb, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch begun := seen["night"]; {
	case n > maxLines:
		return fmt.Errorf("more than %d lines", maxLines)
	case !begun && verb != "night":
		return fmt.Errorf("%s: want %q as the first statement", quote.Line(line, quote.Name), first)
	case !begun && rest != strconv.Itoa(Version):
		return fmt.Errorf("night %s: this program reads version %d", quote.Line(rest, quote.Name), Version)
	case slices.Contains(builds.Verbs, verb):
		return p.step(line, n)
	case seen[verb]:
		return fmt.Errorf("%s: given twice; keep one line", quote.Line(verb, quote.Name))
	case rest == "":
		return fmt.Errorf("%s: want a value behind it", quote.Line(verb, quote.Name))
	}
	if seen[verb] = true; verb == "night" {
		return nil
	}
	read := p.statements()[verb]
	if read == nil {
		return fmt.Errorf(
			"%s: unknown; want one of budget build firmware host pinned repeat store subject, or a command of %s",
			quote.Line(verb, quote.Name),
			strings.Join(builds.Verbs, " "),
		)
	}
	if err := read(rest); err != nil {
		return fmt.Errorf("%s %s: %w", verb, quote.Line(rest, quote.Name), err)
	}
	return nil
}

// statements are what reads the rest of each.
func (p *Plan) statements() map[string]func(string) error {
	word := func(into *string) func(string) error {
		return func(rest string) error {
			if *into = rest; strings.ContainsAny(rest, " \t") || !quote.Clean(rest) {
				return errors.New("want one word")
			}
			return nil
		}
	}
	return map[string]func(string) error{
		"store": word(
			&p.Store,
		), "host": word(&p.Host), "firmware": word(&p.Firmware), "subject": word(&p.Subject), "pinned": word(&p.Pinned),
		"build": func(rest string) error { p.Build = rest; return nil },
		"budget": func(rest string) error {
			minutes, err := number(rest, maxBudget)
			p.Budget = time.Duration(minutes) * time.Minute
			return err
		},
		"repeat": func(rest string) (err error) { p.Repeat, err = number(rest, maxRepeat); return err },
	}
}

func number(text string, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("want 1 to %d", most)
	}
	return n, nil
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
