package netns

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// undo is the list of steps that release the resources of a run.
type undo struct{ steps []func() error }

// later registers a step that close is to run.
func (u *undo) later(f func() error) { u.steps = append(u.steps, f) }

// close undoes all, the last first; the first error is returned. A second call does nothing.
func (u *undo) close() (first error) {
	for _, f := range slices.Backward(u.steps) {
		first = cmp.Or(first, f())
	}
	u.steps = nil
	return first
}

// scratch creates a file without a name, so that nothing remains of it however the run ends.
func (u *undo) scratch(what string) (*os.File, error) {
	f, err := os.OpenFile(os.TempDir(), unix.O_TMPFILE|os.O_RDWR, 0o600)
	if err != nil { // the file system has no unnamed files
		if f, err = os.CreateTemp("", "gauntlet-"+what+"-*"); err == nil {
			err = os.Remove(f.Name())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("netns: scratch file for %s in %s: %w; free some space or set TMPDIR", what,
			os.TempDir(), errors.Unwrap(err))
	}
	u.later(f.Close)
	return f, nil
}

// shared makes a scratch file, and returns the path by which other processes of this user can open it.
func (u *undo) shared(what string) (*os.File, string, error) {
	f, err := u.scratch(what)
	if err != nil {
		return nil, "", err
	}
	return f, reachable(f), nil
}

// reachable is a path by which processes of this user can open a file of this process that has no name.
func reachable(f *os.File) string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd()) }
