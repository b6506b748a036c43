package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
)

// account says of each rule by which soft-RoCE can be judged how the device did, or why nothing exercised the rule.
type account struct {
	scenarios []scenarios.Scenario
	ran       map[[2]string]bool // by role and scenario
}

func newAccount(list []scenarios.Scenario) *account {
	return &account{scenarios: list, ran: map[[2]string]bool{}}
}

// print writes a line for each rule, by the cells of t. Short leaves out what passed.
func (a *account) print(w io.Writer, t *conformTable, short bool) (exercised, total int) {
	for _, r := range rules.All() {
		if !markedRXE(&r) {
			continue
		}
		total++
		judged, plain := 0, true
		var states []string
		var notes []string
		for _, role := range t.impls {
			c := t.cells[[2]string{r.ID, role}]
			switch {
			case !about(&r, role):
				states = append(states, "-")
				continue
			case c == nil:
				c = &conformCell{status: rule.Inconclusive}
			}
			judged += c.judged()
			plain = plain && c.status == rule.Pass
			states, notes = append(states, t.painted(c.status)), append(notes, c.note())
		}
		if judged > 0 {
			exercised++
		} else {
			notes = []string{a.missing(&r)}
		}
		if !short || !plain {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.ID, r.Level, strings.Join(states, "\t"), strings.Join(notes, "; "))
		}
	}
	return exercised, total
}

// markedRXE reports whether the catalogue says that soft-RoCE can be judged by a rule.
func markedRXE(r *rule.Rule) bool { return slices.Contains(strings.Split(r.BlackBox, ","), "RXE") }

// about reports whether a rule binds a role: what is seen at the requester's tap alone is the requester's doing. What both
// taps have to show is either's, except that recovery by go-back-N is the requester's.
func about(r *rule.Rule, role string) bool {
	if role == asBoth {
		return true
	}
	switch taps := r.Needs & rule.Both; {
	case taps == rule.TapRequester, taps == rule.Both && strings.HasPrefix(r.ID, "GBN-"):
		return role == asRequester
	case taps == rule.TapResponder:
		return role == asResponder
	}
	return true
}

// missing says why nothing exercised a rule: it needs what a device does not show, or no tool plays its scenarios, or they were
// not selected, or what they are there for did not arise.
func (a *account) missing(r *rule.Rule) string {
	device := dut.Implementation()
	for _, feature := range r.Features {
		if !slices.Contains(device.Declares(), feature) {
			return "needs " + feature + ", which the tools do not use"
		}
	}
	if inside := r.Needs & rule.Inside; inside != 0 {
		return "needs " + inside.String() + ", which no tap shows"
	}
	var ran, left, unfit []string
	for i := range a.scenarios {
		sc := &a.scenarios[i]
		if !slices.Contains(sc.Rules, r.ID) {
			continue
		}
		for _, role := range []string{asResponder, asRequester} {
			err := fits(role, sc)
			switch {
			case !about(r, role):
			case a.ran[[2]string{role, sc.Name}]:
				ran = append(ran, sc.Name)
			case err == nil:
				left = append(left, sc.Name)
			default:
				unfit = append(unfit, unfitness(err)...)
			}
		}
	}
	switch {
	case len(ran) > 0:
		return "did not arise in " + listed(ran)
	case len(left) > 0:
		return "not selected: " + listed(left)
	case len(unfit) > 0:
		return "no tool does " + listed(unfit)
	}
	return "no scenario is there for " + r.Stimulus
}

// unfitness is what no tool does, of all that is wrong with a scenario.
func unfitness(err error) (list []string) {
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSuffix(strings.TrimSpace(line), ": "+dut.ErrUnfit.Error())
		list = append(list, strings.TrimPrefix(line, "dut: "))
	}
	return list
}

// listed joins words, each once.
func listed(words []string) string {
	slices.Sort(words)
	return strings.Join(slices.Compact(words), ", ")
}

// add notes that a scenario was run.
func (a *account) add(o *suite.Outcome) { a.ran[[2]string{o.Impl, o.Scenario}] = true }
