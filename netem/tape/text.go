package tape

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

const magic = "gauntlet-tape"

// Open reads a tape from a file.
func Open(file string) (*Tape, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("tape: %w", err)
	}
	defer f.Close()
	t, err := Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return t, nil
}

// WriteTo writes the tape in the form that Parse reads.
func (t *Tape) WriteTo(w io.Writer) (int64, error) {
	var n int64
	b := bufio.NewWriter(w)
	line := func(format string, args ...any) {
		k, _ := fmt.Fprintf(b, format+"\n", args...) // b keeps the first error, which Flush returns
		n += int64(k)
	}
	line("%s %d", magic, Version)
	if t.Key == ByTime {
		line("key %s %s", t.Key, t.Slot)
	} else {
		line("key %s", t.Key)
	}
	if t.Model != "" {
		line("model %s", t.Model)
	}
	line("seed %d", t.Seed)
	if t.Key != ByIdentity {
		line("length %d", t.Length)
	}
	for _, s := range t.Spans {
		line("lost %s", s)
	}
	for _, id := range t.IDs {
		line("lost %s", id)
	}
	line("end %d", t.Lost())
	return n, b.Flush()
}

// String prints a span as "17..24", one packet as "311".
func (s Span) String() string {
	if s.From == s.To {
		return strconv.FormatUint(s.From, 10)
	}
	return fmt.Sprintf("%d..%d", s.From, s.To)
}

// String prints an identity as "qp=0 psn=+2 tx=1 class=DATA".
func (id ID) String() string {
	s := fmt.Sprintf("qp=%d psn=%+d tx=%d", id.QP, id.Offset, id.Tx)
	if id.Class != "" {
		s += " class=" + id.Class
	}
	return s
}

// Parse reads a tape. It is strict: every statement once, in the order of the package comment, and no blank lines.
func Parse(r io.Reader) (*Tape, error) {
	p := parser{in: bufio.NewScanner(r), tape: &Tape{}}
	if err := p.header(); err != nil {
		return nil, p.at(err)
	}
	if err := p.entries(); err != nil {
		return nil, p.at(err)
	}
	return p.tape, nil
}

type parser struct {
	in         *bufio.Scanner
	line       int
	word, rest string
	tape       *Tape
}

// at adds the number of the current line to err.
func (p *parser) at(err error) error { return fmt.Errorf("tape: line %d: %w", p.line, err) }

// next reads one line.
func (p *parser) next() error {
	p.line++
	if !p.in.Scan() {
		if err := p.in.Err(); err != nil {
			return err
		}
		return fmt.Errorf("the tape ends early; is the file truncated?")
	}
	p.word, p.rest, _ = strings.Cut(p.in.Text(), " ")
	return nil
}

// expect reads the next statement, which must begin with word.
func (p *parser) expect(word string) error {
	if err := p.next(); err != nil {
		return err
	}
	if p.word != word {
		return fmt.Errorf("%q: want a line that begins with %q", p.in.Text(), word)
	}
	return nil
}

// header reads the statements before the first lost line, and leaves the parser on the seed or the length.
func (p *parser) header() error {
	if err := p.expect(magic); err != nil {
		return err
	}
	if p.rest != strconv.Itoa(Version) {
		return fmt.Errorf("version %q: this program reads version %d", p.rest, Version)
	}
	if err := p.expect("key"); err != nil {
		return err
	}
	if err := p.key(); err != nil {
		return err
	}
	if err := p.next(); err != nil {
		return err
	}
	if p.word == "model" {
		p.tape.Model = p.rest
		if err := p.next(); err != nil {
			return err
		}
	}
	if err := p.number("seed", &p.tape.Seed); err != nil {
		return err
	}
	if p.tape.Key == ByIdentity {
		return nil
	}
	if err := p.next(); err != nil {
		return err
	}
	return p.number("length", &p.tape.Length)
}

func (p *parser) key() error {
	kind, slot, _ := strings.Cut(p.rest, " ")
	p.tape.Key = Key(kind)
	if slot != "" {
		d, err := vtime.ParseDuration(slot)
		if err != nil {
			return err
		}
		p.tape.Slot = d
	}
	return p.tape.validateKey()
}

// number reads the number in the current line, which must begin with word.
func (p *parser) number(word string, into *uint64) error {
	x, err := strconv.ParseUint(p.rest, 10, 64)
	if p.word != word || err != nil {
		return fmt.Errorf("%q: want %s and a whole number", p.in.Text(), word)
	}
	*into = x
	return nil
}

// entries reads the lost lines and the end line, which has their number.
func (p *parser) entries() error {
	t := p.tape
	for {
		if err := p.next(); err != nil {
			return err
		}
		switch {
		case p.word == "end":
			return p.end()
		case p.word != "lost":
			return fmt.Errorf("%q: want lost or end", p.in.Text())
		case len(t.Spans)+len(t.IDs) == MaxEntries:
			return fmt.Errorf("more than %d entries; split the tape", MaxEntries)
		}
		if err := p.lost(); err != nil {
			return err
		}
	}
}

func (p *parser) end() error {
	var n uint64
	if err := p.number("end", &n); err != nil {
		return err
	}
	if n != p.tape.Lost() {
		return fmt.Errorf("end %d, but %d are lost above; the file is damaged", n, p.tape.Lost())
	}
	if p.in.Scan() {
		p.line++
		return fmt.Errorf("%q: nothing may follow end", p.in.Text())
	}
	return p.in.Err()
}

func (p *parser) lost() error {
	t := p.tape
	if t.Key == ByIdentity {
		id, err := parseID(p.rest)
		if n := len(t.IDs); err == nil && n > 0 && t.IDs[n-1].compare(id) >= 0 {
			return fmt.Errorf("lost %s: out of order; write identities ascending, each once", id)
		}
		t.IDs = append(t.IDs, id)
		return err
	}
	from, to, ok := strings.Cut(p.rest, "..")
	if !ok {
		to = from
	}
	a, errA := strconv.ParseUint(from, 10, 64)
	b, errB := strconv.ParseUint(to, 10, 64)
	if errA != nil || errB != nil {
		return fmt.Errorf("lost %q: want a number, or a range such as 17..24", p.rest)
	}
	if n := len(t.Spans); b < a || b >= t.Length || n > 0 && a <= t.Spans[n-1].To {
		return fmt.Errorf("lost %s: out of order, or not below length %d", p.rest, t.Length)
	}
	t.Spans = append(t.Spans, Span{a, b})
	return nil
}

// parseID reads the form that ID.String prints; the result must print as s, which shows that s has nothing else.
func parseID(s string) (ID, error) {
	var id ID
	_, err := fmt.Sscanf(s, "qp=%d psn=%d tx=%d", &id.QP, &id.Offset, &id.Tx)
	if _, class, ok := strings.Cut(s, " class="); ok {
		id.Class = class
	}
	if err != nil || id.String() != s || id.validate() != nil {
		return ID{}, fmt.Errorf("lost %q: want qp=0 psn=+2 tx=1, and class=… at will", s)
	}
	return id, nil
}
