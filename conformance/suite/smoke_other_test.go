//go:build !linux

package suite_test

import "testing"

// registerSmoke adds nothing: real packets need network namespaces.
func registerSmoke(*testing.T) {}
