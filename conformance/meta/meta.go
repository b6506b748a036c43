// Package meta holds the rules that the harness itself must keep (META): that a seed repeats a run, that a rule can
// fail, that a rule is INCONCLUSIVE on an empty trace, and that a verdict does not depend on absolute time, on the
// second tap or on the file from which a trace was read. Such a rule is judged by an experiment on the judge and not by
// one trace. The experiments are the functions of this package; their callers give them recordings.
package meta

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
)

// About is the description of the family.
const About = "The judge itself: that a verdict repeats, that every rule can fail, and that less " +
	"evidence accuses nobody."

// ours is the source of every rule here.
const ours = "harness"

// noDevice is the BlackBox of these rules, which judge no device.
const noDevice = "ENG"

// Rules returns the rules of the family, in the order of their IDs. They have no checks of traces: the functions of
// this package judge them.
func Rules() []rule.Rule {
	list := []rule.Rule{
		{ID: Clock, Level: rule.Must, Title: "Rules take time from the trace alone",
			Stimulus: "a trace that happens later",
			Source: rule.Source{Requirement: "The same trace at another time gives the same verdicts, and the same " +
				"findings that much later."}},
		{ID: Seed, Level: rule.Must, Title: "The same seed and the same Spec give the same trace, byte for byte",
			Stimulus: "a run that is made twice",
			Source:   rule.Source{Requirement: "A run in virtual time is a function of its Spec and its commit."}},
		{ID: Devices, Level: rule.Observation, Title: "What RNICs are known to do differently is listed, and " +
			"fails no run by surprise",
			Stimulus: "none: the list",
			Source: rule.Source{Requirement: "A known deviation is allowed by the rule, or has a waiver with a " +
				"reason, an owner and an end."}},
		{ID: Silence, Level: rule.Must, Title: "A rule that has not met its situation is INCONCLUSIVE",
			Stimulus: "a trace in which nothing happens",
			Source: rule.Source{Requirement: "A rule whose stimulus never arose has proved " +
				"nothing, and must not pass."}},
		{ID: LessEvidence, Level: rule.Must, Title: "Less evidence never adds a FAIL",
			Stimulus: "a run that is judged again from less",
			Source: rule.Source{Requirement: "For every degradation of a trace, the rules that fail on it are among " +
				"those that fail on the whole."}},
		{ID: MoreEvidence, Level: rule.Must, Title: "Less evidence makes no FAIL a PASS",
			Stimulus: "a run that breaks a rule and is judged again from less",
			Source: rule.Source{Requirement: "A rule that fails on the whole trace fails on a degraded one, or is " +
				"INCONCLUSIVE and says what is missing."}},
		{ID: Mutants, Level: rule.Must, Title: "Each rule catches an engine that is wrong on purpose, and " +
			"lets the right one pass",
			Stimulus: "the broken engines",
			Source:   rule.Source{Requirement: "A check that has never been seen to fail proves nothing."}},
		{ID: Captures, Level: rule.Must, Title: "Verdicts from the captures of a run are those of the run",
			Stimulus: "a run that is judged again from its files",
			Source: rule.Source{Requirement: "Everything below the trace is a function of it, so that a run can " +
				"be judged again later."}},
		{ID: SoftRoCE, Level: rule.Observation, Title: "What soft-RoCE is known to do differently is listed, and " +
			"fails no run by surprise",
			Stimulus: "none: the list",
			Source: rule.Source{Requirement: "A known deviation is allowed by the rule, or has a waiver with a " +
				"reason, an owner and an end."}},
		{ID: OneTap, Level: rule.Must, Title: "A rule that needs both taps refuses the trace of one",
			Stimulus: "a trace of which one tap is taken away",
			Source: rule.Source{Requirement: "One tap cannot tell a loss from silence, so every accusation " +
				"would have two suspects."}},
		{ID: Vacuous, Level: rule.Must, Title: "A judgement in which no rule was decided is no PASS",
			Stimulus: "a trace in which nothing happens",
			Source: rule.Source{Requirement: "A report that could decide nothing does not say PASS, and the program " +
				"does not exit with 0."}},
		{ID: Validity, Level: rule.Must, Title: "A property that fails takes the verdicts of those rules that rest " +
			"on it, and of no others",
			Stimulus: "a verdict whose link, capture or host is not what it should be",
			Source: rule.Source{Requirement: "A property of link, capture or host that fails changes only verdicts " +
				"of rules that declare it."}},
	}
	for i := range list {
		list[i].Source.Ref, list[i].BlackBox = ours, noDevice
	}
	return list
}

// The IDs.
const (
	Clock   = "META-CLK-001"
	Seed    = "META-DET-001"
	Devices = "META-HW-001"
	Silence = "META-INC-001"
	Mutants = "META-MUT-001"

	LessEvidence = "META-LESS-001"
	MoreEvidence = "META-MORE-001"
	Captures     = "META-PCAP-001"
	SoftRoCE     = "META-RXE-001"
	OneTap       = "META-TAP-001"
	Vacuous      = "META-VAC-001"
	Validity     = "META-VAL-001"
)

// account collects the results of an experiment.
type account struct {
	met      int
	problems []string
}

// failf records a violation.
func (a *account) failf(format string, args ...any) {
	a.met++
	a.problems = append(a.problems, fmt.Sprintf(format, args...))
}

// most bounds the findings that a verdict keeps; further ones are only counted.
const most = 64

// verdict returns the verdict of the rule with an ID.
func (a *account) verdict(id string) rule.Verdict {
	for _, r := range Rules() {
		if r.ID != id {
			continue
		}
		v := rule.Verdict{Rule: id, Level: r.Level, Title: r.Title, Source: r.Source, Required: r.Level == rule.Must,
			Met:   a.met,
			Total: len(a.problems), Status: rule.Pass}
		for _, p := range a.problems[:min(most, len(a.problems))] {
			v.Findings = append(v.Findings, rule.Finding{Rule: id, Blame: rule.Harness, Conn: -1,
				Record: rule.NoRecord, Text: p})
		}
		if v.Total > 0 {
			v.Explain = rule.Explain(id)
		}
		switch {
		case v.Total > 0 && r.Level != rule.Observation:
			v.Status = rule.Fail
		case a.met == 0:
			v.Status, v.Reason = rule.Inconclusive, "stimulus not seen: "+r.Stimulus
		}
		return v
	}
	panic("meta: no rule " + id)
}
