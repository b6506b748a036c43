// Package history holds the measurements of successive nights as plain data: a Night is a header and its points, a
// Point one number or one verdict, a Track the points of one series in time.
//
// Package change interprets the difference between two points; package store stores nights.
package history

import (
	"math"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/perf/stats"
)

// Class says which influences other than the program make a number differ from one night to the next.
type Class string

// The classes.
const (
	Exact  Class = "exact"  // nothing: virtual time, or counted instructions
	Paired Class = "paired" // seeds; the same seed gives the same losses
	Noisy  Class = "noisy"  // the machine, in real time
)

// Better is the direction of an improvement; "" when there is none.
type Better string

// The directions.
const (
	Up   Better = "up"
	Down Better = "down"
)

// Series identifies the points of different nights that belong together.
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
	Reference []float64 `json:"reference,omitempty"` // the same number for the pinned build, measured with Values
	Word      string    `json:"word,omitempty"`      // instead of Values: a verdict, with the broken rules
	Seeds     []uint64  `json:"seeds,omitempty"`
	Spec      string    `json:"spec,omitempty"` // hash of the Spec of the run
	Status    string    `json:"status,omitempty"`
	Run       string    `json:"run,omitempty"` // path or address of the stored run
}

// Gap reports whether the night has no result for the series: the link was INVALID, the harness broke, or nothing was
// measured. A gap is not a value, in particular not zero; Status gives the reason.
func (p *Point) Gap() bool { return p.Word == "" && len(p.Values) == 0 }

// Value returns the point as one number: the mean over its seeds; for a noisy point the median, divided by that of the
// pinned build if there is one. It is NaN for a gap and for a verdict.
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

// Same reports whether two points have identical results. The place of the stored run does not matter.
func (p *Point) Same(o *Point) bool {
	return p.Word == o.Word && p.Status == o.Status && slices.Equal(p.Values, o.Values) &&
		slices.Equal(p.Seeds, o.Seeds)
}

// Header describes a night: the fields that its points have in common.
type Header struct {
	Night    string `json:"night"`   // the day, such as "2026-11-24"
	Started  string `json:"started"` // RFC 3339, UTC
	Version  string `json:"version"` // of the tool
	Commit   string `json:"commit"`  // commit that was measured
	Host     string `json:"host"`
	Kernel   string `json:"kernel,omitempty"`   // of the host, where real packets ran
	Firmware string `json:"firmware,omitempty"` // of the device
}

// Night holds the results of one host from one night.
type Night struct {
	Header
	Points []Point
	Alarms []Alarm
}

// Alarm is a noisy number that has been confirmed to have changed. Points before Since belong to another level, and are
// no longer compared.
type Alarm struct {
	Series   string  `json:"alarm"` // name of the series
	Host     string  `json:"of_host"`
	Since    string  `json:"since"`      // first night of the new level
	Old      string  `json:"old_commit"` // the commits that were compared
	New      string  `json:"new_commit"`
	Relative float64 `json:"relative"` // change of the median
	P        float64 `json:"p"`        // of no change, by the rank test
}
