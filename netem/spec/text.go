package spec

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// String prints the link, its loss left out, as the one line that ParseLink reads: "rate=10G delay=20ms queue=1000".
// Fields that are zero are left out; the zero link, which does nothing, is "rate=0".
func (l Link) String() string {
	var w words
	w.add("rate", l.Rate, l.Rate != 0)
	w.add("delay", l.Delay, l.Delay != 0)
	w.add("jitter", l.Jitter, l.Jitter != 0)
	w.add("queue", number(l.Queue), l.Queue != 0)
	w.add("port", l.Port, l.Port != 0)
	w.add("ecn-min", number(l.Mark.Min), l.Mark.Min != 0)
	w.add("ecn-max", number(l.Mark.Max), l.Mark.Max != 0)
	w.add("ecn-p", l.Mark.P, l.Mark.P != 0)
	w.add("reorder", l.Reorder, l.Reorder != 0)
	w.add("duplicate", l.Duplicate, l.Duplicate != 0)
	w.add("corrupt", l.Corrupt, l.Corrupt != 0)
	w.add("rate", l.Rate, len(w) == 0)
	return strings.Join(w, " ")
}

// ParseLink reads the words of a link in any order and validates the result. The loss is a line of its own: ParseLoss.
func ParseLink(line string) (Link, error) {
	var l Link
	err := parse("link", strings.Fields(line), []field{
		{"rate", into(&l.Rate, unit.ParseRate)},
		{"delay", into(&l.Delay, vtime.ParseDuration)},
		{"jitter", into(&l.Jitter, vtime.ParseDuration)},
		{"queue", into(&l.Queue, strconv.Atoi)},
		{"port", into(&l.Port, unit.ParseRate)},
		{"ecn-min", into(&l.Mark.Min, strconv.Atoi)},
		{"ecn-max", into(&l.Mark.Max, strconv.Atoi)},
		{"ecn-p", into(&l.Mark.P, unit.ParseRatio)},
		{"reorder", into(&l.Reorder, unit.ParseRatio)},
		{"duplicate", into(&l.Duplicate, unit.ParseRatio)},
		{"corrupt", into(&l.Corrupt, unit.ParseRatio)},
	})
	if err != nil {
		return Link{}, err
	}
	l.Mark.complete()
	if err := l.Validate(); err != nil {
		return Link{}, err
	}
	return l, nil
}

// complete fills in the defaults of a step, of which only Min was given.
func (m *Mark) complete() {
	if m.Min != 0 && m.Max == 0 {
		m.Max = m.Min
	}
	if m.Min != 0 && m.P == 0 {
		m.P = 1
	}
}

// String prints the process as the one line that ParseLoss reads: "gemodel p=0.01 r=0.3 h=0.5 k=1". NoLoss is "none".
func (l Loss) String() string {
	m, err := findModel(string(l.Model))
	if err != nil {
		return string(l.Model)
	}
	w := words{m.word}
	for _, r := range m.ratios(&l) {
		w.add(r.key, r.value, true)
	}
	w.add("len", number(l.Length), l.Model == Sojourn)
	w.add("file", name(l.File), l.Model == Tape)
	w.add("slot", l.Slot, l.Slot != 0)
	return strings.Join(w, " ")
}

// ParseLoss reads the name of a model and its parameters, and validates the result:
//
//	none
//	random p=1e-4
//	gemodel p=1% r=30% h=0 k=1
//	state p13=1% p31=99% p32=0 p14=0 p23=1
//	burst p=1e-4 len=8 h=1
//	tape file=fades.tape
//
// The values shown for h and k, and in state for all but p13 (p31 is 1-p13), are the defaults; those of gemodel and
// state are netem's. The others have none. A burst also reads commas and colons as blanks, enter for p and loss for h,
// so that it fits one argument of a command line: "burst:enter=1e-4,len=8,loss=0.3". Every model but tape takes slot.
func ParseLoss(line string) (Loss, error) {
	fields := strings.Fields(unfold(line))
	if len(fields) == 0 {
		return Loss{}, nil
	}
	m, err := findModel(fields[0])
	if err != nil {
		return Loss{}, err
	}
	l, args := m.fresh(), fields[1:]
	if err := parse(m.name(), args, m.fields(&l)); err != nil {
		return Loss{}, err
	}
	if err := m.complete(args); err != nil {
		return Loss{}, err
	}
	if m.id == Markov4 && !given(args, "p31") {
		l.P31 = 1 - l.P13 // so that p13 alone, with the other defaults, is independent loss
	}
	if err := l.Validate(); err != nil {
		return Loss{}, err
	}
	return l, nil
}

// unfold converts the command-line spelling of a burst to the one with blanks.
func unfold(line string) string {
	line = strings.TrimSpace(line)
	rest, ok := strings.CutPrefix(line, string(Sojourn))
	if !ok {
		return line
	}
	rest = strings.NewReplacer(",", " ", ":", " ").Replace(rest)
	return string(Sojourn) + strings.NewReplacer(" enter=", " p=", " loss=", " h=").Replace(rest)
}

// words collects key=value pairs.
type words []string

func (w *words) add(key string, value fmt.Stringer, wanted bool) {
	if wanted {
		*w = append(*w, key+"="+value.String())
	}
}

type number int

func (n number) String() string { return strconv.Itoa(int(n)) }

type name string

func (n name) String() string { return string(n) }

// field is a key and the setter of its value.
type field struct {
	key string
	set func(string) error
}

// into returns a setter that parses a value into p.
func into[T any](p *T, read func(string) (T, error)) func(string) error {
	return func(s string) (err error) {
		*p, err = read(s)
		return err
	}
}

// parse sets a field for each key=value word; of names the thing being parsed, for errors.
func parse(of string, args []string, fields []field) error {
	seen := map[string]bool{}
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		i := index(fields, key)
		switch {
		case i < 0:
			return fmt.Errorf("%s: unknown field %q; known are %s", of, key, known(fields))
		case !ok || value == "":
			return fmt.Errorf("%s: %s has no value; write %s=…", of, key, key)
		case seen[key]:
			return fmt.Errorf("%s: %s is given twice; keep one", of, key)
		}
		seen[key] = true
		if err := fields[i].set(value); err != nil {
			return fmt.Errorf("%s: %s: %w", of, key, err)
		}
	}
	return nil
}

func index(fields []field, key string) int {
	for i, f := range fields {
		if f.key == key {
			return i
		}
	}
	return -1
}

func known(fields []field) string {
	if len(fields) == 0 {
		return "none"
	}
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.key
	}
	return strings.Join(keys, ", ")
}
