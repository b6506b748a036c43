// Package targets holds the numerical claims of five papers as data: one Target for each claim, with its place in the
// paper, how it is measured here, the prediction of package models, and the bound that a measurement must keep.
//
// A target's bound is what this project's engines must reach by the rules of their protocols. Often that agrees with
// the paper; where it does not, Reason says which of the two is wrong, or what else the paper measured. No engine is
// tuned to meet a paper's number.
package targets

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// Class says how a claim can be checked.
type Class byte

// The classes. The first three gate: a measurement outside its bound is a failure. The others are reported.
const (
	Analytic  Class = 'A' // follows from a closed form
	Virtual   Class = 'V' // measured at full scale in virtual time
	Emulated  Class = 'E' // measured over namespaces, scaled down by the rule that the row states
	Hardware  Class = 'H' // needs the hardware of the paper; at most the direction of the claim can be checked
	Undefined Class = 'X' // contradicts the protocol, or is not specific enough to be measured
)

// Gates reports whether a measurement of the class may fail a run.
func (c Class) Gates() bool { return c == Analytic || c == Virtual || c == Emulated }

// ParseClasses reads "A,V".
func ParseClasses(s string) ([]Class, error) {
	var out []Class
	for name := range strings.SplitSeq(s, ",") {
		if len(name) != 1 || !strings.Contains("AVEHX", name) {
			return nil, fmt.Errorf("class %.20q: want letters of A,V,E,H,X, separated by commas", name)
		}
		out = append(out, Class(name[0]))
	}
	return out, nil
}

// Target is one claim of a paper.
type Target struct {
	ID     string // stable: PT-LW-05
	Source string // paper, and section, figure or table
	Claim  string // statement of the paper, and its conditions
	Class  Class  // class of the checks that have none
	Reason string // why the class is H or X, or which side is wrong
	Checks []Check
}

// Check is one number of a claim.
type Check struct {
	Name   string // name of the number, where the claim has several
	Class  Class  // 0 is that of the target
	Metric Metric
	// Runs are the scenarios whose results the metric reads, in its order. Without runs the number is that of Account,
	// an accounting of memory or bytes with that name, or, without that too, the model's.
	Runs    []string
	Account string
	Paper   float64 // 0 when the paper gives no number
	Model   float64 // 0 when there is no closed form
	Bound   Bound
}

// Title describes the number: "p99 at 1e-4, FCT p99 / RTT".
func (c *Check) Title() string {
	if c.Name == "" {
		return c.Metric.Name
	}
	return c.Name + ", " + c.Metric.Name
}

// Bound is the range of a measurement that meets the target. Either end may be infinite.
type Bound struct{ Low, High float64 }

// Holds reports whether x is within the bound.
func (b Bound) Holds(x float64) bool { return b.Low <= x && x <= b.High }

// Ways to write a bound.
func around(x, share float64) Bound { return Bound{x * (1 - share), x * (1 + share)} }
func within(x, by float64) Bound    { return Bound{x - by, x + by} }
func atLeast(x float64) Bound       { return Bound{x, math.Inf(1)} }
func atMost(x float64) Bound        { return Bound{math.Inf(-1), x} }

// Classes returns the classes of the target and its checks, each once.
func (t *Target) Classes() []Class {
	out := []Class{}
	for i := range t.Checks {
		out = append(out, t.ClassOf(&t.Checks[i]))
	}
	if len(out) == 0 {
		out = append(out, t.Class)
	}
	slices.SortFunc(out, func(a, b Class) int {
		return strings.Index("AVEHX", string(a)) - strings.Index("AVEHX", string(b))
	})
	return slices.Compact(out)
}

// ClassOf returns the class of one check.
func (t *Target) ClassOf(c *Check) Class {
	if c.Class != 0 {
		return c.Class
	}
	return t.Class
}

// All returns the targets of all papers, in the order of the families of their IDs.
func All() []Target {
	return slices.Concat(loWAR(), goBackONE(), faSR(), ntt(), datagramIWARP())
}

// Find returns the targets selected by names: an ID, or the beginning of IDs, such as PT-LW.
func Find(all []Target, names []string) ([]Target, error) {
	var out []Target
	for _, name := range names {
		n := len(out)
		for _, t := range all {
			if t.ID == name || strings.HasPrefix(t.ID, name+"-") {
				out = append(out, t)
			}
		}
		if len(out) == n {
			return nil, fmt.Errorf("target %.40q: unknown; see gauntlet list targets", name)
		}
	}
	return out, nil
}

// Random reports whether the results of s depend on random events, so that one seed is not enough.
func Random(s *scenario.Spec) bool {
	return random(s.Link.AB) || random(s.Link.BA) || random(s.LAN.Link)
}

func random(l spec.Link) bool {
	fixed := l.Loss.Model == spec.NoLoss || l.Loss.Model == spec.Tape
	return !fixed || l.Jitter > 0 || l.Reorder > 0 || l.Duplicate > 0 || l.Corrupt > 0 || l.Mark.P > 0
}
