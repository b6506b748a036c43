//go:build !linux

package topology

import (
	"errors"
	"io"
)

var errLinux = errors.New("netns: network namespaces need Linux; use the sim bench here")

// Privileged returns an error: no privilege would help on this system.
func Privileged() error { return errLinux }

// Reexec returns the same error.
func Reexec() (code int, replaced bool, err error) { return 0, false, errLinux }

// JanitorMain returns the same error; there are no names to remove.
func JanitorMain([]string, io.Reader) error { return errLinux }
