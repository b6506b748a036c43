// Package history is what was measured night after night, as plain data: a Night is a header and its points, a Point
// one number or one verdict, a Track the points of one series in time.
//
// What a difference between two points means is for package change to say; how nights are kept, for package store.
package history

import (
	"math"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/perf/stats"
)

// Class says what else than the program makes a number differ from one night to the next.
type Class string

// The classes.
const (
	Exact  Class = "exact"  // nothing: virtual time, or counted instructions
	Paired Class = "paired" // seeds, and the same seeds are met by the same losses
	Noisy  Class = "noisy"  // the machine: real time
)

// Better says which direction is an improvement; "" when neither is.
type Better string

// The directions.
const (
	Up   Better = "up"
	Down Better = "down"
)

// Series is what points of different nights have in common.
type Series struct {
	Name   string `json:"series"` // such as "matrix irn random goodput"
	Bench  string `json:"bench"`
	Class  Class  `json:"class"`
	Unit   string `json:"unit,omitempty"`
	Better Better `json:"better,omitempty"`
}

// Point is one number of a night, or one verdict.
type Point struct {
	Series
	Values    []float64 `json:"values,omitempty"`    // by seed where there are seeds, else by repetition
	Reference []float64 `json:"reference,omitempty"` // the same number of the pinned build, measured beside Values
	Word      string    `json:"word,omitempty"`      // in place of Values: a verdict, with the rules that are broken
	Seeds     []uint64  `json:"seeds,omitempty"`
	Spec      string    `json:"spec,omitempty"` // hash of what was run
	Status    string    `json:"status,omitempty"`
	Run       string    `json:"run,omitempty"` // where the run is kept, a path or an address
}

// Gap reports whether the night has nothing to say here: the link was INVALID, the harness broke, or nothing was
// measured. A gap is no value, least of all zero; Status says why.
func (p *Point) Gap() bool { return p.Word == "" && len(p.Values) == 0 }

// Value is the point as one number: the mean over its seeds, or of a noisy one the median, as a share of that of the
// pinned build where there is one. It is NaN for a gap and for a verdict.
func (p *Point) Value() float64 {
	if len(p.Values) == 0 {
		return math.NaN()
	}
	if p.Class != Noisy {
		e, err := stats.Mean(p.Values, 0.95)
		if err != nil {
			return math.NaN()
		}
		return e.Value
	}
	value := stats.Median(p.Values)
	if len(p.Reference) > 0 {
		value /= stats.Median(p.Reference)
	}
	return value
}

// Same reports whether two points say the same to the bit. Where a run is kept does not matter.
func (p *Point) Same(o *Point) bool {
	return p.Word == o.Word && p.Status == o.Status && slices.Equal(p.Values, o.Values) &&
		slices.Equal(p.Seeds, o.Seeds)
}

// Header is what the points of a night have in common.
type Header struct {
	Night    string `json:"night"`   // the day, such as "2026-11-24"
	Started  string `json:"started"` // RFC 3339, UTC
	Version  string `json:"version"` // of the tool that measured
	Commit   string `json:"commit"`  // of what was measured
	Host     string `json:"host"`
	Kernel   string `json:"kernel,omitempty"`   // where real packets ran
	Firmware string `json:"firmware,omitempty"` // of the device
}

// Night is what one host measured in one go.
type Night struct {
	Header
	Points []Point
	Alarms []Alarm
}

// Alarm is a noisy number that was confirmed to have changed. What is older than Since is of another level, and no
// longer compared with.
type Alarm struct {
	Series   string  `json:"alarm"` // name
	Host     string  `json:"of_host"`
	Since    string  `json:"since"`      // the night that began it
	Old      string  `json:"old_commit"` // that were compared in turns
	New      string  `json:"new_commit"`
	Relative float64 `json:"relative"` // change of the median
	P        float64 `json:"p"`        // of the rank test
}
