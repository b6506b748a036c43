//go:build !linux

package main

import "errors"

func network() []finding {
	return []finding{{Name: "bench netns", State: "missing", Found: "needs Linux", Remedy: "use --bench sim"}}
}

func freeSpace(string) (uint64, error) { return 0, errors.New("not known here") }
