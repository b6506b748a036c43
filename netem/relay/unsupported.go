//go:build !linux

package relay

import (
	"errors"
	"io"
)

// Main needs packet sockets, which only Linux has.
func Main(io.Reader, io.Writer, Dialect) error {
	return errors.New("relay: needs Linux; use the sim bench here")
}
