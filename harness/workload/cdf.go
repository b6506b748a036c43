// Package workload is the load of applications on a transport: the sizes of flows and their arrival times. Both are
// functions of the number of the flow, so that the side which checks a run knows what the other side sent.
package workload

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
)

// CDF is a distribution of flow sizes by its corners: a share of the flows is as large as Size or smaller. Between two
// corners sizes are spread evenly, as by the traffic generators of data-centre studies; below the first they begin at
// one byte. The last share is 1. An empty CDF is none.
type CDF []Corner

// Corner is a point of a CDF.
type Corner struct {
	Size unit.Size
	Most unit.Ratio // share of the flows that are not larger
}

// named are the distributions of Table I of the Go-Back-ONE paper, its only data on flow sizes. Its corners are powers
// of ten, ten times as far apart as those of the studies that it takes them from.
var named = map[string]CDF{
	"fb-hadoop": {{1e1, .01}, {1e2, .02}, {1e3, .60}, {1e4, .71}, {1e5, .88}, {1e6, .97}, {1e7, 1}},
	"websearch": {{1e1, .04}, {1e2, .07}, {1e3, .10}, {1e4, .15}, {1e5, .60}, {1e6, .75}, {1e7, 1}},
}

// Names lists the distributions that have a name.
func Names() []string {
	var names []string
	for name := range named {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// mostCorners bounds the corners of a CDF that a user writes.
const mostCorners = 1000

// ParseCDF reads a name, or corners as SIZE:SHARE with commas between them: "1KiB:50%,1MiB:1".
func ParseCDF(text string) (CDF, error) {
	if c, ok := named[text]; ok {
		return c, nil
	}
	if !strings.Contains(text, ":") {
		return nil, fmt.Errorf("unknown distribution %.60q; known: %s; or corners such as 1KiB:50%%,1MiB:1", text,
			strings.Join(Names(), " "))
	}
	var c CDF
	for part := range strings.SplitSeq(text, ",") {
		size, share, _ := strings.Cut(part, ":")
		var corner Corner
		var bad [2]error
		corner.Size, bad[0] = unit.ParseSize(size)
		corner.Most, bad[1] = unit.ParseRatio(share)
		if err := cmp.Or(bad[0], bad[1]); err != nil {
			return nil, fmt.Errorf("corner %.60q: %w", part, err)
		}
		if c = append(c, corner); len(c) > mostCorners {
			return nil, fmt.Errorf("more than %d corners", mostCorners)
		}
	}
	return c, c.check()
}

// check returns an error when the corners are no distribution: sizes must increase, shares must not decrease, and the
// last share must be 1.
func (c CDF) check() error {
	last := Corner{}
	for _, corner := range c {
		if corner.Size <= last.Size || corner.Most < last.Most {
			return fmt.Errorf("corner %s after %s: sizes must grow, and shares must not fall", corner, last)
		}
		last = corner
	}
	if last.Most != 1 {
		return errors.New("ends at " + last.String() + "; the last share must be 1, the largest size")
	}
	return nil
}

// String is the inverse of ParseCDF.
func (c CDF) String() string {
	for name, n := range named {
		if slices.Equal(c, n) {
			return name
		}
	}
	parts := make([]string, len(c))
	for i, corner := range c {
		parts[i] = corner.String()
	}
	return strings.Join(parts, ",")
}

// String prints a corner as ParseCDF reads it.
func (c Corner) String() string {
	return strconv.FormatInt(int64(c.Size), 10) + ":" + c.Most.String()
}

// Largest returns the size that no flow exceeds, 0 without a distribution.
func (c CDF) Largest() unit.Size {
	if len(c) == 0 {
		return 0
	}
	return c[len(c)-1].Size
}

// Mean returns the mean size in bytes.
func (c CDF) Mean() float64 {
	mean, last := 0.0, Corner{Size: 1}
	for _, corner := range c {
		mean += float64(corner.Most-last.Most) * float64(corner.Size+last.Size) / 2
		last = corner
	}
	return mean
}

// At returns the size that a share u of the flows, from 0 up to and without 1, is smaller than.
func (c CDF) At(u float64) unit.Size {
	last := Corner{Size: 1}
	for _, corner := range c {
		if u < float64(corner.Most) {
			part := (u - float64(last.Most)) / float64(corner.Most-last.Most)
			return last.Size + unit.Size(math.Round(part*float64(corner.Size-last.Size)))
		}
		last = corner
	}
	return last.Size
}
