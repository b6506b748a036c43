//go:build !linux

package doctor

import "errors"

func network() []Finding {
	return []Finding{{Name: "bench netns", State: "missing", Found: "needs Linux", Remedy: "use --bench sim"}}
}

func hardware() []Finding { return nil }

func freeSpace(string) (uint64, error) { return 0, errors.New("not known here") }
