// Package shard divides work among machines that know nothing of each other: which part a machine has, and which units
// of work are in it. It starts nothing and talks to nobody; who starts the machines says by variables of the
// environment which part each of them is.
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
	Of    int // shards, 1 at least
}

// Whole is all of the work.
var Whole = Part{0, 1}

// Auto is the word for a part that the environment tells.
const Auto = "auto"

// Parse reads "2/8", the second of eight shards, or "auto", for which getenv is asked.
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

// part checks a part that source names.
func part(source string, index, of int) (Part, error) {
	if of < 1 || of > Most || index < 0 || index >= of {
		return Part{}, fmt.Errorf("shard %d of %d, from %s: want one of 1 to %d shards, counted from 1",
			index+1, of, source, Most)
	}
	return Part{index, of}, nil
}

// String is the form that Parse reads.
func (p Part) String() string { return fmt.Sprintf("%d/%d", p.Index+1, p.Of) }
