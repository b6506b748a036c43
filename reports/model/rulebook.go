package model

import "github.com/rdma-gauntlet/gauntlet/conformance/rule"

// Rulebook holds the explanations of rules, by family.
type Rulebook struct {
	Format   int          `json:"format"`
	Version  string       `json:"version"` // of this tool
	Commit   string       `json:"commit"`
	Families []RuleFamily `json:"families"`
}

// RuleFamily is the rules with the same first part of the ID.
type RuleFamily struct {
	Name  string      `json:"name"`  // "RC"
	About string      `json:"about"` // its subject, in a sentence
	Rules []RuleEntry `json:"rules"`
}

// RuleEntry is the explanation of one rule.
type RuleEntry struct {
	ID       string      `json:"id"`
	Level    rule.Level  `json:"level"`
	Title    string      `json:"title"`
	Source   rule.Source `json:"source"`
	Stimulus string      `json:"stimulus"` // what must happen for the rule to be exercised
	Needs    []string    `json:"needs"`    // evidence that the rule needs, and its taps
	Features []string    `json:"features,omitempty"`
	Devices  []string    `json:"devices"` // which foreign devices can be judged
	// the properties of link, capture and host without which its verdict is INVALID
	RestsOn string `json:"rests_on"`
	Unbuilt string `json:"unbuilt,omitempty"`

	Causes   []string     `json:"causes,omitempty"`   // usual causes in a device that breaks it
	Kept     *RuleExample `json:"kept,omitempty"`     // a trace that keeps it
	Broken   *RuleExample `json:"broken,omitempty"`   // a trace that breaks it
	Others   []string     `json:"others,omitempty"`   // names of the other fixtures
	Engines  []Culprit    `json:"engines,omitempty"`  // broken engines that the rule must catch
	Uncaught string       `json:"uncaught,omitempty"` // why there is none
}

// RuleExample is a fixture, drawn as a ladder.
type RuleExample struct {
	Name     string   `json:"name"`
	About    string   `json:"about,omitempty"` // description of the trace
	Given    []string `json:"given,omitempty"` // attributes of the QPs, and orders
	Ladder   string   `json:"ladder"`
	Findings []string `json:"findings,omitempty"` // findings of the rule, a line each
}

// Culprit is a broken engine.
type Culprit struct {
	Name   string `json:"name"` // as --impl takes it
	Breaks string `json:"breaks"`
}
