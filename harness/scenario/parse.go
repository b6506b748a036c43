package scenario

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
)

// Bounds of a Spec. They keep a mistyped number from filling a machine, and the canonical text, which may have more and
// longer lines than the input, within the bounds of Parse.
const (
	maxLines   = 10000
	maxLine    = 4096
	maxEntries = 9900 // lines of title, parameters, faults, injections, loads and posts together
	maxName    = 64
	maxPath    = 1024
	maxMessage = 1 * unit.GiB
	maxDepth   = 65536
	maxWR      = 1e9 - 1 // work requests of loads count from 10^9 on
)

// ReadFile parses a Spec file; errors begin with the file's name and the line.
func ReadFile(path string) (*Spec, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return s, nil
}

// Parse reads a whole Spec, whose title is the comment lines before the first statement. Every error is one line that
// names the line, the field and the remedy; an error of the Spec as a whole is reported at its last line.
func Parse(r io.Reader) (*Spec, error) {
	s := Default()
	in := bufio.NewScanner(r)
	in.Buffer(nil, 2*maxLine)
	n, top := 0, true
	for in.Scan() {
		n++
		line := strings.TrimSpace(in.Text())
		top = top && (line == "" || line[0] == '#')
		err := s.Line(line)
		if err == nil && top && line != "" {
			err = s.title(line)
		}
		if err == nil && n > maxLines {
			err = fmt.Errorf("more than %d lines; a Spec is one run, split it", maxLines)
		}
		if err != nil {
			return nil, fmt.Errorf("%d: %w", n, err)
		}
	}
	err := in.Err()
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%d: %w", n+1, errLong)
	case err != nil:
		return nil, fmt.Errorf("%d: %w", n+1, err)
	}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("%d: %w", n, err)
	}
	return s, nil
}

var errLong = fmt.Errorf("line longer than %d bytes; split the statement", maxLine)

// title takes a comment of the prose at the top.
func (s *Spec) title(comment string) error {
	t := strings.TrimSpace(comment[1:])
	if len(t) > maxLine-2 {
		return errLong
	}
	s.Title = append(s.Title, t)
	return s.checkEntries()
}

// Line applies one statement to the Spec. Empty lines and comments do nothing. After an error the Spec is not to be
// used.
func (s *Spec) Line(line string) error {
	line = strings.TrimSpace(line)
	switch {
	case len(line) > maxLine:
		return errLong
	case line == "" || line[0] == '#':
		return nil
	}
	st := newStatement(line)
	v := findVerb(st.verb)
	if v == nil {
		return fmt.Errorf("unknown verb %.60q; known: %s", st.verb, verbNames())
	}
	if st.err == nil {
		v.read(s, &st)
	}
	if err := st.done(); err != nil {
		return err
	}
	return s.checkEntries()
}

// checkEntries bounds the sum of the entries that statements add.
func (s *Spec) checkEntries() error {
	n := len(s.Title) + len(s.Params) + len(s.Faults) + len(s.LAN.Faults) + len(s.Injections) +
		len(s.Loads) + len(s.Posts)
	if n > maxEntries {
		return fmt.Errorf(
			"more than %d comments, parameters, faults, injections, loads and posts; split the Spec", maxEntries)
	}
	return nil
}
