package fault

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// String prints the fault as the line that Parse reads, words in one fixed order.
func (f Fault) String() string {
	w := []string{string(f.Action), string(f.From)}
	add := func(wanted bool, key, value string) {
		if wanted {
			w = append(w, key+"="+value)
		}
	}
	add(f.QP != AnyQP, "qp", strconv.Itoa(f.QP))
	add(f.PSN.Given, "psn", f.PSN.String())
	add(f.Tx != 0, "tx", strconv.Itoa(f.Tx))
	add(f.Type != "", "type", f.Type)
	add(f.Nth != 0, "nth", strconv.Itoa(f.Nth))
	add(f.Count > 0, "count", strconv.Itoa(f.Count))
	add(f.Count == Every, "count", "*")
	add(f.By != 0, "by", f.By.String())
	add(f.Behind != 0, "behind", strconv.Itoa(f.Behind))
	add(f.Copies != 0, "copies", strconv.Itoa(f.Copies))
	add(f.Field != "", "field", string(f.Field))
	add(f.Action == Rewrite, "value", strconv.Itoa(f.Value))
	return strings.Join(w, " ")
}

// String prints a span as "+2", "+2..+5"; any PSN is "any".
func (s Span) String() string {
	switch {
	case !s.Given:
		return "any"
	case s.From == s.To:
		return fmt.Sprintf("%+d", s.From)
	}
	return fmt.Sprintf("%+d..%+d", s.From, s.To)
}

// Parse reads one fault: an action, a side, and key=value words in any order.
//
//	drop A psn=+2 tx=1              the first transmission of the third packet of every QP of A
//	drop A psn=+2..+5 tx=1          four packets in a row
//	drop B type=NAK nth=1           B's first NAK
//	delay A psn=+3 by=100us
//	reorder A psn=+2 behind=3
//	dup A psn=+2 copies=1           copies=1 may be left out
//	corrupt A psn=+2 field=payload  field=any may be left out
//	mark A psn=+2 count=*           every transmission of it
//	rewrite A psn=+1 field=ttl value=3
func Parse(line string) (Fault, error) {
	words := strings.Fields(line)
	if len(words) < 2 {
		return Fault{}, fmt.Errorf("fault %q: want an action and a side, such as drop A psn=+2 tx=1", line)
	}
	f := Fault{Action: Action(words[0]), From: Side(words[1]), QP: AnyQP}
	switch f.Action {
	case Duplicate:
		f.Copies = 1
	case Corrupt:
		f.Field = AnyField
	}
	for i, w := range words[2:] {
		key, value, _ := strings.Cut(w, "=")
		if slices.ContainsFunc(words[2:2+i], func(o string) bool { return strings.HasPrefix(o, key+"=") }) {
			return Fault{}, fmt.Errorf("fault %q: %s is given twice; keep one", line, key)
		}
		if err := f.set(key, value); err != nil {
			return Fault{}, fmt.Errorf("fault %q: %w", line, err)
		}
	}
	if err := f.Validate(); err != nil {
		return Fault{}, fmt.Errorf("fault %q: %w", line, err)
	}
	return f, nil
}

const keys = "qp, psn, tx, type, nth, count, by, behind, copies, field, value"

// set reads one key=value word. Counts must be positive here, so that a fault prints as it was written.
func (f *Fault) set(key, value string) (err error) {
	switch key {
	case "qp":
		f.QP, err = whole(key, value, 0)
	case "psn":
		f.PSN, err = parseSpan(value)
	case "tx":
		f.Tx, err = whole(key, value, 1)
	case "type":
		f.Type = value
		if value == "" {
			err = fmt.Errorf("type is empty; name an opcode or a class")
		}
	case "nth":
		f.Nth, err = whole(key, value, 1)
	case "count":
		if f.Count = Every; value != "*" {
			f.Count, err = whole(key, value, 1)
		}
	case "by":
		f.By, err = vtime.ParseDuration(value)
	case "behind":
		f.Behind, err = whole(key, value, 1)
	case "copies":
		f.Copies, err = whole(key, value, 1)
	case "field":
		f.Field = Field(value)
	case "value":
		f.Value, err = number(key, value)
	default:
		err = fmt.Errorf("unknown word %q; known are %s", key, keys)
	}
	return err
}

// whole reads a number of at least least.
func whole(key, s string, least int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < least {
		return 0, fmt.Errorf("%s=%q: want a whole number from %d", key, s, least)
	}
	return n, nil
}

// number reads a decimal number, or a hexadecimal one with 0x.
func number(key, s string) (int, error) {
	n, err := strconv.ParseUint(s, 0, 31)
	if err != nil {
		return 0, fmt.Errorf("%s=%q: want a number such as 3 or 0x1f", key, s)
	}
	return int(n), nil
}

// parseSpan reads "+2", "-1" or "+2..+5".
func parseSpan(s string) (Span, error) {
	from, to, ok := strings.Cut(s, "..")
	if !ok {
		to = from
	}
	a, errA := strconv.Atoi(from)
	b, errB := strconv.Atoi(to)
	if errA != nil || errB != nil {
		return Span{}, fmt.Errorf("psn=%q: want an offset from the start PSN such as +2, or a range such as +2..+5", s)
	}
	return Span{Given: true, From: a, To: b}, nil
}
