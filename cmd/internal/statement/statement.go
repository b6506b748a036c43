// Package statement reads text files that users write for commands. Each line is a statement: a verb and the rest of
// the line. Lines that begin with # are comments. The first statement is the version of the format, such as "gate 1".
package statement

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// Limits of a file.
const (
	MaxLines = 1000
	MaxLine  = 4096 // bytes
)

// Form is a file format.
type Form struct {
	Name    string // verb of the first statement
	Version int    // the only version

	// Verbs has a function for each verb, which parses the rest of the line. A verb may occur once.
	Verbs map[string]func(rest string) error

	// Also parses lines of other kinds, which may occur more than once; nil if there are none. Kinds names them in
	// errors: "or a command of …".
	Also  func(verb, line string, number int) (taken bool, err error)
	Kinds string

	// Check returns an error when statements are missing or contradict each other. It is called at the end.
	Check func() error
}

// reading is the state of Read.
type reading struct {
	*Form
	seen map[string]bool
}

// Read parses a file. Every error is one line that names the line of the file, the word and the remedy.
func (f *Form) Read(r io.Reader) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, MaxLine)
	state := reading{f, map[string]bool{}}
	n := 0
	for in.Scan() {
		n++
		line := strings.TrimSpace(in.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if err := state.line(line, n); err != nil {
			return fmt.Errorf("%d: %w", n, err)
		}
	}
	err := in.Err()
	switch {
	case err != nil:
		err = fmt.Errorf("line longer than %d bytes, or unreadable: %w", MaxLine, err)
	case len(state.seen) == 0:
		err = fmt.Errorf("no statement; want %q first", f.first())
	default:
		err = f.Check()
	}
	if err != nil {
		return fmt.Errorf("%d: %w", n, err)
	}
	return nil
}

// first returns the first statement of a file.
func (f *Form) first() string { return f.Name + " " + strconv.Itoa(f.Version) }

// line parses one statement; the version has to come first.
func (r *reading) line(line string, n int) error {
	verb, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch begun := r.seen[r.Name]; {
	case n > MaxLines:
		return fmt.Errorf("more than %d lines", MaxLines)
	case !begun && (verb != r.Name || len(strings.Fields(rest)) != 1):
		return fmt.Errorf("%s: want %q as the first statement", quote.Line(line, quote.Name), r.first())
	case !begun && rest != strconv.Itoa(r.Version):
		return fmt.Errorf("%s %s: this program reads version %d", r.Name, quote.Line(rest, quote.Name), r.Version)
	case !begun:
		r.seen[verb] = true
		return nil
	}
	if r.Also != nil {
		if taken, err := r.Also(verb, line, n); taken || err != nil {
			return err
		}
	}
	return r.verb(verb, rest)
}

// verb parses a statement of Verbs.
func (r *reading) verb(verb, rest string) error {
	read := r.Verbs[verb]
	switch {
	case r.seen[verb]:
		return fmt.Errorf("%s: given twice; keep one line", quote.Line(verb, quote.Name))
	case read == nil:
		known := strings.Join(slices.Sorted(maps.Keys(r.Verbs)), " ")
		return fmt.Errorf("%s: unknown; want one of %s%s", quote.Line(verb, quote.Name), known, r.Kinds)
	case rest == "":
		return fmt.Errorf("%s: want a value behind it", verb)
	}
	r.seen[verb] = true
	if err := read(rest); err != nil {
		return fmt.Errorf("%s %s: %w", verb, quote.Line(rest, quote.Name), err)
	}
	return nil
}

// Word returns a parser of one word.
func Word(into *string) func(string) error {
	return func(rest string) error {
		if *into = rest; len(strings.Fields(rest)) != 1 || !quote.Clean(rest) {
			return fmt.Errorf("want one word")
		}
		return nil
	}
}

// Words returns a parser of several words.
func Words(into *[]string) func(string) error {
	return func(rest string) error { *into = strings.Fields(rest); return nil }
}

// Number returns a parser of a whole number from least to most.
func Number(into *int, least, most int) func(string) error {
	return func(rest string) error {
		n, err := strconv.Atoi(rest)
		if *into = n; err != nil || n < least || n > most {
			return fmt.Errorf("want %d to %d", least, most)
		}
		return nil
	}
}
