package fault

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// The limits of one fault.
const (
	MaxCopies = 64 // for one fault, and for all faults on one packet
	MaxBehind = 1 << 16
	MaxBy     = 600 * vtime.Second // MaxFaults of them still fit in a vtime.Duration
	maxOffset = 1<<23 - 1          // beyond half the PSN circle an offset has no sign
)

// Validate returns an error for the first invalid part of the fault, with the remedy.
func (f Fault) Validate() error {
	switch {
	case gravity(f.Action) < 0:
		return fmt.Errorf("unknown action %q; known are drop, dup, delay, reorder, corrupt, rewrite, mark", f.Action)
	case f.From != A && f.From != B:
		return fmt.Errorf("unknown side %q; known are A, B", f.From)
	case f.QP < AnyQP:
		return fmt.Errorf("qp=%d: use the index of a connection, or leave it out for any", f.QP)
	case f.PSN.Given && (f.PSN.From > f.PSN.To || f.PSN.From < -maxOffset || f.PSN.To > maxOffset):
		return fmt.Errorf("psn=%s: use an ascending range within ±%d", f.PSN, maxOffset)
	case !f.PSN.Given && f.PSN != Span{}:
		return fmt.Errorf("psn=%+d..%+d is not marked as given", f.PSN.From, f.PSN.To)
	case f.Tx < 0 || f.Nth < 0 || f.Count < Every:
		return fmt.Errorf("tx=%d nth=%d count=%d: use numbers from 1, or leave them out", f.Tx, f.Nth, f.Count)
	case strings.ContainsFunc(f.Type, notTypeRune):
		return fmt.Errorf("type=%q: use an opcode such as WRITE_FIRST, or a class: %s", f.Type, list(Classes()))
	}
	if err := f.checkOperands(); err != nil {
		return err
	}
	return f.checkSurplus()
}

// checkOperands checks the operands of the action.
func (f Fault) checkOperands() error {
	switch {
	case f.By > MaxBy:
		return fmt.Errorf("by=%s: use %s at most", f.By, MaxBy)
	case f.By < 0 || f.Action == Delay && f.By == 0:
		return fmt.Errorf("by=%s: say how much later, such as by=100us", f.By)
	case f.Action == Duplicate && (f.Copies < 1 || f.Copies > MaxCopies):
		return fmt.Errorf("copies=%d: use 1 to %d", f.Copies, MaxCopies)
	case f.Action == Reorder && (f.Behind < 1 || f.Behind > MaxBehind):
		return fmt.Errorf("behind=%d: say how many successors pass first, 1 to %d", f.Behind, MaxBehind)
	case f.Action == Corrupt && !slices.Contains(CorruptFields(), f.Field):
		return fmt.Errorf("unknown field %q; corrupt knows %s", f.Field, list(CorruptFields()))
	case f.Action == Rewrite:
		limit, ok := rewriteMax(f.Field)
		if !ok {
			return fmt.Errorf("unknown field %q; rewrite knows %s", f.Field, list(RewriteFields()))
		}
		if f.Value < 0 || f.Value > limit {
			return fmt.Errorf("value=%d: %s takes 0 to %d", f.Value, f.Field, limit)
		}
	}
	return nil
}

// checkSurplus rejects words that the action would silently ignore.
func (f Fault) checkSurplus() error {
	switch {
	case f.By != 0 && f.Action != Delay && f.Action != Duplicate:
		return fmt.Errorf("by=%s means nothing to %s; leave it out", f.By, f.Action)
	case f.Behind != 0 && f.Action != Reorder:
		return fmt.Errorf("behind=%d means nothing to %s; leave it out", f.Behind, f.Action)
	case f.Copies != 0 && f.Action != Duplicate:
		return fmt.Errorf("copies=%d means nothing to %s; leave it out", f.Copies, f.Action)
	case f.Field != "" && f.Action != Corrupt && f.Action != Rewrite:
		return fmt.Errorf("field=%s means nothing to %s; leave it out", f.Field, f.Action)
	case f.Value != 0 && f.Action != Rewrite:
		return fmt.Errorf("value=%d means nothing to %s; leave it out", f.Value, f.Action)
	}
	return nil
}

// CheckTypes returns an error for the first type that is neither a Class nor one of the given opcode names. Parse
// cannot check this, because this package knows no wire format.
func (s *Set) CheckTypes(opcodes []string) error {
	for i, f := range s.faults {
		if f.Type != "" && !slices.Contains(Classes(), Class(f.Type)) && !slices.Contains(opcodes, f.Type) {
			return fmt.Errorf("fault %d: unknown type %q; known are %s, %s", i, f.Type, list(Classes()),
				strings.Join(opcodes, ", "))
		}
	}
	return nil
}

// Classes lists the classes.
func Classes() []Class { return []Class{Data, ACK, NAK, RNR, ReadResponse, CM, FEC} }

// CorruptFields lists the fields of Corrupt.
func CorruptFields() []Field {
	return []Field{AnyField, IP, UDP, BTH, Opcode, PSN, DestQP, Ext, Payload, ICRC}
}

// RewriteFields lists the fields of Rewrite.
func RewriteFields() []Field { return []Field{TTL, TOS, DSCP, ECN, Flow, UDPSum, FECN, BECN, Resv8a} }

// rewriteMax returns the largest value of a field, from its width on the wire.
func rewriteMax(f Field) (int, bool) {
	bits, ok := map[Field]int{TTL: 8, TOS: 8, DSCP: 6, ECN: 2, Flow: 20, UDPSum: 16, FECN: 1, BECN: 1, Resv8a: 8}[f]
	return 1<<bits - 1, ok
}

func notTypeRune(r rune) bool {
	return !(r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_')
}

func list[T ~string](words []T) string {
	s := make([]string, len(words))
	for i, w := range words {
		s[i] = string(w)
	}
	return strings.Join(s, ", ")
}
