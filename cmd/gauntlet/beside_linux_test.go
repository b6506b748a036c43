//go:build netns

package main

import "testing"

// beside lets a test run beside others like it, after those that need the machine for themselves: it waits most of the
// time, and nothing that it asserts depends on how late a link is.
func beside(t *testing.T) {
	t.Helper()
	t.Parallel()
}

// attempts is the most times that a run is made while it is INVALID. One that was late is made again with twice the
// time, so that the last of them has sixteen times as much as was expected to be enough.
const attempts = "5"
