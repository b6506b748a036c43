package trace

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Fixture is a trace written by hand, with the findings that it should give.
//
//	qp mtu=1024 timeout=14
//	A post wr=1 WRITE len=3072
//	A>B WRITE_FIRST  psn=+0 len=1024
//	A>X WRITE_MIDDLE psn=+1 len=1024          # the link lost it
//	A>B WRITE_LAST   psn=+2 len=1024 A
//	B>A NAK psn=+1 msn=0 PSN_SEQ_ERR
//	B>A NAK psn=+1 msn=0 PSN_SEQ_ERR          // want "second NAK"
//	X>B WRITE_ONLY   psn=+9 len=8             # nobody sent it
//	@50..52.5 A>B WRITE_MIDDLE psn=+1 len=1024 got icrc=bad
//
// Each line happens 1 us after the one before unless it begins with its own time, and a packet arrives 0.4 us after it
// was sent. PSNs are relative to the first request of the half-conversation, so a fixture runs at every start.
// FORMAT.md lists the words.
type Fixture struct {
	Header  Header
	Records []Record
	Events  []Event
	Wants   map[int][]*regexp.Regexp // by line of the file
	Until   vtime.Time               // end of observation

	// RecordLines and EventLines give the line of each record and event.
	RecordLines, EventLines []int

	order []entry
}

// entry is a position in the stream: record i, or event i.
type entry struct {
	at    vtime.Time
	event bool
	i     int
}

// Limits of a fixture, which is read by people.
const (
	fixtureLines = 100_000
	fixtureLine  = 4096
)

// Defaults of a line without times.
const (
	lineStep  = vtime.Microsecond
	lineDelay = 400 * vtime.Nanosecond
)

// ParseFixture reads a fixture; PSN +0 is base unless a header line moves it. Errors name the line.
func ParseFixture(r io.Reader, base psn.PSN) (*Fixture, error) {
	p := newFixtureParser(base)
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, fixtureLine)
	for sc.Scan() {
		p.n++
		if p.n > fixtureLines {
			return nil, fmt.Errorf("fixture: more than %d lines", fixtureLines)
		}
		if err := p.line(sc.Text()); err != nil {
			return nil, fmt.Errorf("fixture: line %d: %w", p.n, err)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("fixture: line %d: %w", p.n+1, err)
	}
	if err := p.build(); err != nil {
		return nil, fmt.Errorf("fixture: %w", err)
	}
	return p.finish(), nil
}

// Play hands the fixture to s in time order, and in the order of the lines where times are equal.
func (f *Fixture) Play(s Sink) {
	for _, e := range f.order {
		if e.event {
			s.Event(&f.Events[e.i])
		} else {
			s.Packet(&f.Records[e.i])
		}
	}
	s.End(f.Until)
}

// Line returns the line of a finding: that of the record with this index in the stream, or, for an index beyond the
// records, that of the last entry not later than at; 0 when there is none.
func (f *Fixture) Line(index uint64, at vtime.Time) int {
	if index < uint64(len(f.RecordLines)) {
		return f.RecordLines[index]
	}
	line := 0
	for _, e := range f.order {
		switch {
		case e.at > at:
			return line
		case e.event:
			line = f.EventLines[e.i]
		default:
			line = f.RecordLines[e.i]
		}
	}
	return line
}

// fixtureParser is the state between lines.
type fixtureParser struct {
	f       *Fixture
	n       int // line
	base    psn.PSN
	started bool // a packet or event was read: header lines are over
	unknown bool
	clock   vtime.Time // time of the last line
	lines   []packetLine
	posted  map[work]engine.Op
	streams map[fixtureWay]*fixtureStream
	shift   int // added to the connection of a line that is seen on the second hop of a divided path
}

// newFixtureParser starts with the header that a file without header lines has.
func newFixtureParser(base psn.PSN) *fixtureParser {
	f := &Fixture{Wants: map[int][]*regexp.Regexp{}}
	f.Header = Header{Version: FormatVersion, Bench: "fixture", Taps: [2]bool{true, true}, Bytes: true, Reports: allReports}
	p := &fixtureParser{f: f, base: base, posted: map[work]engine.Op{}}
	p.f.Header.Conns = []Conn{defaultConn(0, base)}
	return p
}

// line reads one line.
func (p *fixtureParser) line(text string) error {
	text, err := p.wants(text)
	if err != nil {
		return err
	}
	words := strings.Fields(withoutComment(text))
	if len(words) == 0 {
		return nil
	}
	if done, err := p.header(words); done || err != nil {
		return err
	}
	p.started = true
	at, words, err := p.stamp(words)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return fmt.Errorf("a time with nothing after it")
	}
	if words[0] == "end" {
		p.f.Until = max(p.f.Until, at.line)
		return nil
	}
	if from, to, ok := strings.Cut(words[0], ">"); ok {
		return p.packet(at, from, to, words[1:])
	}
	return p.event(at.line, words)
}

// wants cuts `// want "re" "re"` off the line and keeps the expressions.
func (p *fixtureParser) wants(text string) (string, error) {
	text, list, ok := strings.Cut(text, "// want ")
	if !ok {
		return text, nil
	}
	for list = strings.TrimSpace(list); list != ""; list = strings.TrimSpace(list) {
		expr, rest, ok := quoted(list)
		if !ok {
			return "", fmt.Errorf("want %s: expressions must be quoted", list)
		}
		re, err := regexp.Compile(expr)
		if err != nil {
			return "", fmt.Errorf("want %q: %w", expr, err)
		}
		list = rest
		p.f.Wants[p.n] = append(p.f.Wants[p.n], re)
	}
	return text, nil
}

// quoted takes a string in double quotes or backquotes off the front of s. In double quotes a backslash protects a quote;
// other backslashes belong to the expression, so that "psn=\+1" can be written as it is meant.
func quoted(s string) (body, rest string, ok bool) {
	quote := s[0]
	if quote != '"' && quote != '`' {
		return "", s, false
	}
	for i := 1; i < len(s); i++ {
		switch {
		case quote == '"' && s[i] == '\\':
			i++
		case s[i] == quote:
			body = s[1:i]
			if quote == '"' {
				body = strings.ReplaceAll(body, `\"`, `"`)
			}
			return body, s[i+1:], true
		}
	}
	return "", s, false
}

// withoutComment cuts a comment, which begins with # at the start of the line or after a space.
func withoutComment(s string) string {
	for i := range len(s) {
		if s[i] == '#' && (i == 0 || s[i-1] == ' ' || s[i-1] == '\t') {
			return s[:i]
		}
	}
	return s
}

// stamped is when a line happens: sent at line, received at recv.
type stamped struct{ line, recv vtime.Time }

// stamp reads an optional leading "@12.5" or "@12.5..15.2", in microseconds.
func (p *fixtureParser) stamp(words []string) (stamped, []string, error) {
	text, ok := strings.CutPrefix(words[0], "@")
	if !ok {
		p.clock = p.clock.Add(lineStep)
		return stamped{p.clock, p.clock.Add(lineDelay)}, words, nil
	}
	first, second, both := strings.Cut(text, "..")
	at, err := micros(first)
	if err != nil {
		return stamped{}, nil, err
	}
	s := stamped{at, at.Add(lineDelay)}
	if both {
		if s.recv, err = micros(second); err != nil {
			return stamped{}, nil, err
		}
	}
	p.clock = at
	return s, words[1:], nil
}

// micros reads a time in microseconds.
func micros(s string) (vtime.Time, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(x >= 0 && x < 1e12) {
		return 0, fmt.Errorf("time %q: want microseconds, such as 12.5", s)
	}
	return vtime.Time(math.Round(x * float64(vtime.Microsecond))), nil
}

// finish sorts what was read; equal times keep the order of the lines.
func (p *fixtureParser) finish() *Fixture {
	f := p.f
	slices.SortStableFunc(f.order, func(a, b entry) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	f.renumber()
	for i := range f.Header.Conns {
		if p.unknown {
			forget(&f.Header.Conns[i])
		}
	}
	return f
}

// renumber puts records and events, which came in the order of the lines, into that of time.
func (f *Fixture) renumber() {
	records, events := f.Records, f.Events
	recordLines, eventLines := f.RecordLines, f.EventLines
	f.Records, f.Events, f.RecordLines, f.EventLines = nil, nil, nil, nil
	for i := range f.order {
		e := &f.order[i]
		if e.event {
			f.Events = append(f.Events, events[e.i])
			f.EventLines = append(f.EventLines, eventLines[e.i])
			e.i = len(f.Events) - 1
			continue
		}
		f.Records = append(f.Records, records[e.i])
		f.RecordLines = append(f.RecordLines, recordLines[e.i])
		e.i = len(f.Records) - 1
	}
}

// addRecord keeps a record and its line, and moves the end of observation behind it.
func (p *fixtureParser) addRecord(r Record) {
	f := p.f
	f.order = append(f.order, entry{r.Time(), false, len(f.Records)})
	f.Records = append(f.Records, r)
	f.RecordLines = append(f.RecordLines, p.n)
	for _, t := range []vtime.Time{r.Sent, r.Recv} {
		if t != vtime.Never {
			f.Until = max(f.Until, t)
		}
	}
}

// addEvent keeps an event and its line.
func (p *fixtureParser) addEvent(e Event) {
	f := p.f
	f.order = append(f.order, entry{e.At, true, len(f.Events)})
	f.Events = append(f.Events, e)
	f.EventLines = append(f.EventLines, p.n)
	f.Until = max(f.Until, e.At)
}
