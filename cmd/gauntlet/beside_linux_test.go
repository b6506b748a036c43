//go:build netns

package main

import "testing"

// beside runs a test in parallel with similar ones, after the tests that need the machine for themselves. Such a test
// mostly waits, and its assertions do not depend on the delay of the host.
func beside(t *testing.T) {
	t.Helper()
	t.Parallel()
}

// attempts is the largest number of times that an INVALID run is made. A run that was late is repeated with twice the
// time, so the last attempt has 32 times the expected time.
const attempts = "5"
