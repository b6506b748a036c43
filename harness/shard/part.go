// Package shard divides work among machines that do not communicate: it gives the part of a machine, and the units of
// work in it. It starts nothing; variables of the environment tell each machine its part.
package shard

import (
	"fmt"
	"strconv"
	"strings"
)

// Most bounds the shards of a batch.
const Most = 10_000

// Part is one of several shards.
type Part struct {
	Index int // from 0
	Of    int // number of shards, at least 1
}

// Whole is all of the work.
var Whole = Part{0, 1}

// Auto is the word for a part from the environment.
const Auto = "auto"

// Parse parses "2/8", the second of eight shards, or "auto", for a part from the variables of getenv.
func Parse(text string, getenv func(string) string) (Part, error) {
	if text == Auto {
		return fromEnvironment(getenv)
	}
	index, of, ok := strings.Cut(text, "/")
	i, errI := strconv.Atoi(index)
	n, errN := strconv.Atoi(of)
	if !ok || errI != nil || errN != nil {
		return Part{}, fmt.Errorf("shard %q: want i/n, such as 2/8, or auto", text)
	}
	return part(text, i-1, n)
}

// part checks a part; source is named in its error.
func part(source string, index, of int) (Part, error) {
	if of < 1 || of > Most || index < 0 || index >= of {
		return Part{}, fmt.Errorf("shard %d of %d, from %s: want one of 1 to %d shards, counted from 1",
			index+1, of, source, Most)
	}
	return Part{index, of}, nil
}

// String returns the form that Parse reads.
func (p Part) String() string { return fmt.Sprintf("%d/%d", p.Index+1, p.Of) }
