package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// statement is one line of scenario text, taken apart. Readers take the words and keys that they know; done returns an
// error for any that remains. Only the first error is kept, so that a reader can go on without looking.
type statement struct {
	text  string // the whole line
	verb  string
	words []string          // words after the verb that are no key=value, in order
	keys  map[string]string // key=value words
	tail  string            // the text after the word ":", not split
	asked []string          // keys that readers looked for, to list in the error about an unknown key
	err   error
}

// newStatement splits a line that is not empty.
func newStatement(line string) statement {
	head, tail, _ := strings.Cut(line, " : ")
	st := statement{text: line, tail: strings.TrimSpace(tail), keys: map[string]string{}}
	for i, w := range strings.Fields(head) {
		k, v, isKey := strings.Cut(w, "=")
		switch {
		case i == 0:
			st.verb = w
		case !isKey:
			st.words = append(st.words, w)
		default:
			if _, twice := st.keys[k]; twice {
				st.fail(k, v, "given twice; keep one")
			}
			st.keys[k] = v
		}
	}
	return st
}

// fail notes an error about one field.
func (st *statement) fail(key, value, remedy string) {
	st.errorf("%s=%s: %s", shown(key), shown(value), remedy)
}

// errorf notes an error about the statement.
func (st *statement) errorf(format string, args ...any) {
	if st.err == nil {
		st.err = fmt.Errorf("%s: "+format, append([]any{st.verb}, args...)...)
	}
}

// shown quotes s if it has unprintable characters or is too long, and cuts it to a readable length.
func shown(s string) string {
	const most = 60
	if len(s) > most || strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) || r == '\uFFFD' }) {
		return fmt.Sprintf("%.*q", most, s)
	}
	return s
}

// take removes a key and reports whether it was there.
func (st *statement) take(key string) (string, bool) {
	st.asked = append(st.asked, key)
	v, ok := st.keys[key]
	delete(st.keys, key)
	return v, ok
}

// word removes the first word, if there is one.
func (st *statement) word() (string, bool) {
	if len(st.words) == 0 {
		return "", false
	}
	w := st.words[0]
	st.words = st.words[1:]
	return w, true
}

// choice takes a key whose value is no or yes, two words, and sets dst to whether it is yes.
func (st *statement) choice(key string, dst *bool, no, yes string) {
	v, ok := st.take(key)
	switch {
	case !ok:
	case v == no || v == yes:
		*dst = v == yes
	default:
		st.fail(key, v, "want "+no+" or "+yes)
	}
}

// integer lists the types that whole reads.
type integer interface {
	~int | ~int64 | ~uint8 | ~uint16 | ~uint32
}

// whole reads a whole number within bounds into dst when the key is present.
func whole[T integer](st *statement, key string, dst *T, least, most int64) {
	v, ok := st.take(key)
	if !ok {
		return
	}
	x, ok := signed(v)
	if !ok || x < least || x > most {
		st.fail(key, v, fmt.Sprintf("want a whole number from %d to %d", least, most))
		return
	}
	*dst = T(x)
}

// signed reads a decimal or, with 0x, a hexadecimal number. Go's own choice of base would take 010 for eight.
func signed(s string) (int64, bool) {
	if strings.HasPrefix(s, "0x") {
		x, ok := unsigned(s)
		return int64(x), ok && int64(x) >= 0
	}
	x, err := strconv.ParseInt(s, 10, 64)
	return x, err == nil
}

// unsigned is signed for numbers that need all 64 bits.
func unsigned(s string) (uint64, bool) {
	digits, base := s, 10
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		digits, base = hex, 16
	}
	x, err := strconv.ParseUint(digits, base, 64)
	return x, err == nil
}

// word64 reads a number of 64 bits.
func (st *statement) word64(key string, dst *uint64) {
	v, ok := st.take(key)
	if !ok {
		return
	}
	x, ok := unsigned(v)
	if !ok {
		st.fail(key, v, "want a number of 64 bits, such as 7 or 0xff")
		return
	}
	*dst = x
}

// duration reads a time with its unit; a bare number is refused, because readers would assume different units.
func (st *statement) duration(key string, dst *vtime.Duration) {
	v, ok := st.take(key)
	if !ok {
		return
	}
	d, err := vtime.ParseDuration(v)
	switch {
	case err != nil:
		st.fail(key, v, "want a duration such as 40ms or 5us")
	case d < 0:
		st.fail(key, v, "is negative; want 0 or more")
	default:
		*dst = d
	}
}

// size reads bytes, up to most.
func (st *statement) size(key string, dst *unit.Size, most unit.Size) {
	v, ok := st.take(key)
	if !ok {
		return
	}
	x, err := unit.ParseSize(v)
	if err != nil || x > most {
		st.fail(key, v, fmt.Sprintf("want a size from 0 to %s, such as 1500 or 64KiB", most))
		return
	}
	*dst = x
}

// share reads a ratio.
func (st *statement) share(key string, dst *unit.Ratio) {
	v, ok := st.take(key)
	if !ok {
		return
	}
	x, err := unit.ParseRatio(v)
	if err != nil {
		st.fail(key, v, "want a share from 0 to 1, such as 0.3 or 30%")
		return
	}
	*dst = x
}

// side reads A or B.
func (st *statement) side(key string, dst *trace.Side) {
	v, ok := st.take(key)
	if !ok {
		return
	}
	s, ok := parseSide(v)
	if !ok {
		st.fail(key, v, "want A or B")
		return
	}
	*dst = s
}

func parseSide(v string) (s trace.Side, ok bool) {
	switch v {
	case "A":
		return trace.A, true
	case "B":
		return trace.B, true
	}
	return 0, false
}

// rest returns the keys that no reader took, as key=value words in order of the keys: for the parsers of other
// packages.
func (st *statement) rest() string {
	words := make([]string, 0, len(st.keys))
	for k, v := range st.keys {
		words = append(words, k+"="+v)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// clear drops the remaining words and keys, after another package has read the statement.
func (st *statement) clear() {
	st.words, st.tail = nil, ""
	clear(st.keys)
}

// done returns the first error, or one about a key, word or tail that no reader took.
func (st *statement) done() error {
	if left := st.rest(); left != "" {
		k, _, _ := strings.Cut(left, "=")
		slices.Sort(st.asked)
		known := "none"
		if len(st.asked) > 0 {
			known = strings.Join(slices.Compact(st.asked), " ")
		}
		st.errorf("unknown field %.60q; known: %s", k, known)
	}
	if len(st.words) > 0 {
		st.errorf("unexpected word %.60q; leave it out", st.words[0])
	}
	if st.tail != "" {
		st.errorf("nothing may follow a colon; leave out %.60q", st.tail)
	}
	return st.err
}
