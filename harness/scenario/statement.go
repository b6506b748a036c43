package scenario

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// statement is one line of scenario text, taken apart. Readers take the keys they know; what is left over is an error
// that lists them.
type statement struct {
	verb  string
	words []string // positional words after the verb
	keys  map[string]string
	asked []string
	err   error
}

// newStatement splits a line; key=value words go to keys, the others keep their order.
func newStatement(line string) statement {
	st := statement{keys: map[string]string{}}
	for i, w := range strings.Fields(line) {
		k, v, isKey := strings.Cut(w, "=")
		switch {
		case i == 0:
			st.verb = w
		case isKey:
			if _, twice := st.keys[k]; twice {
				st.fail(k, v, "given twice")
			}
			st.keys[k] = v
		default:
			st.words = append(st.words, w)
		}
	}
	return st
}

func (st *statement) fail(key, value, remedy string) {
	if st.err == nil {
		st.err = fmt.Errorf("%s: %s=%s: %s", st.verb, key, value, remedy)
	}
}

// take removes a key and reports whether it was there.
func (st *statement) take(key string) (string, bool) {
	st.asked = append(st.asked, key)
	v, ok := st.keys[key]
	delete(st.keys, key)
	return v, ok
}

// integer reads a whole number within bounds into dst when the key is present. Decimal and 0x are both understood.
func (st *statement) integer(key string, dst *int64, least, most int64) {
	v, ok := st.take(key)
	if !ok {
		return
	}
	x, err := strconv.ParseInt(v, 0, 64)
	if err != nil || x < least || x > most {
		st.fail(key, v, fmt.Sprintf("want a whole number from %d to %d", least, most))
		return
	}
	*dst = x
}

// bounded is integer for any integer type.
func bounded[T ~int | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64](st *statement, key string, dst *T, least, most int64) {
	x := int64(*dst)
	st.integer(key, &x, least, most)
	*dst = T(x)
}

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

func (st *statement) side(key string, dst *trace.Side) {
	v, ok := st.take(key)
	if !ok {
		return
	}
	s, err := parseSide(v)
	if err != nil {
		st.fail(key, v, "want A or B")
		return
	}
	*dst = s
}

func parseSide(v string) (trace.Side, error) {
	switch v {
	case "A":
		return trace.A, nil
	case "B":
		return trace.B, nil
	}
	return 0, fmt.Errorf("side %q: want A or B", v)
}

// rest returns what the readers did not take, as "key=value" words in order of the keys: for parsers of other packages.
func (st *statement) rest() string {
	words := make([]string, 0, len(st.keys))
	for k, v := range st.keys {
		words = append(words, k+"="+v)
	}
	sort.Strings(words)
	return strings.Join(words, " ")
}

// done returns the first error, or one that names a key nobody asked for.
func (st *statement) done() error {
	if st.err != nil {
		return st.err
	}
	for _, w := range strings.Fields(st.rest()) {
		k, _, _ := strings.Cut(w, "=")
		sort.Strings(st.asked)
		return fmt.Errorf("%s: unknown field %q; known: %s", st.verb, k, strings.Join(st.asked, " "))
	}
	if len(st.words) > 0 {
		return fmt.Errorf("%s: unexpected word %q", st.verb, st.words[0])
	}
	return nil
}
