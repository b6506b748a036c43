//go:build !linux

package topology

import (
	"errors"
	"io"
)

var errLinux = errors.New("netns: network namespaces need Linux; use the sim bench here")

// Privileged tells that nothing here would help.
func Privileged() error { return errLinux }

// Reexec tells the same.
func Reexec() (code int, replaced bool, err error) { return 0, false, errLinux }

// JanitorMain has nothing to clean up.
func JanitorMain([]string, io.Reader) error { return errLinux }
