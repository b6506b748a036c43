package roce

import (
	"errors"
	"fmt"
)

// Reasons of a FieldError, for errors.Is. A receiver drops such frames without an answer; only ErrNotRoCE is normal,
// because other traffic shares the link.
var (
	ErrNotRoCE       = errors.New("not RoCEv2")
	ErrTruncated     = errors.New("truncated")
	ErrLength        = errors.New("length disagrees")
	ErrMalformed     = errors.New("malformed")
	ErrUnknownOpcode = errors.New("unknown opcode")
)

// FieldError says which field of a frame is missing or wrong, and how.
type FieldError struct {
	Field     string // header or field, such as "reth" or "udp length"
	Reason    error  // one of the errors above
	Got, Want int    // the value found and the one expected; bytes when the reason is ErrTruncated
}

// Error prints the field, the reason and both values.
func (e *FieldError) Error() string {
	return fmt.Sprintf("roce: %s: %v: got %d, want %d", e.Field, e.Reason, e.Got, e.Want)
}

// Unwrap returns the reason.
func (e *FieldError) Unwrap() error { return e.Reason }

// bad builds a FieldError. It is kept out of line to keep the decoder's path for valid frames short.
//
//go:noinline
func bad(field string, reason error, got, want int) error {
	return &FieldError{Field: field, Reason: reason, Got: got, Want: want}
}
