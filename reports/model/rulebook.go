package model

import "github.com/rdma-gauntlet/gauntlet/conformance/rule"

// Rulebook is what there is to read about rules, by family.
type Rulebook struct {
	Format   int          `json:"format"`
	Version  string       `json:"version"` // of this tool
	Commit   string       `json:"commit"`
	Families []RuleFamily `json:"families"`
}

// RuleFamily is the rules whose IDs begin alike.
type RuleFamily struct {
	Name  string      `json:"name"`  // "RC"
	About string      `json:"about"` // whose behaviour it is about, in a sentence
	Rules []RuleEntry `json:"rules"`
}

// RuleEntry is what there is to read about one rule.
type RuleEntry struct {
	ID       string      `json:"id"`
	Level    rule.Level  `json:"level"`
	Title    string      `json:"title"`
	Source   rule.Source `json:"source"`
	Stimulus string      `json:"stimulus"` // what must happen for the rule to be exercised
	Needs    []string    `json:"needs"`    // what must be seen, and from where
	Features []string    `json:"features,omitempty"`
	Devices  []string    `json:"devices"` // which foreign devices can be judged
	// the properties of link, capture and host without which its verdict is INVALID
	RestsOn string `json:"rests_on"`
	Unbuilt string `json:"unbuilt,omitempty"`

	Causes   []string     `json:"causes,omitempty"`   // what usually makes a device break it
	Kept     *RuleExample `json:"kept,omitempty"`     // a trace that keeps it
	Broken   *RuleExample `json:"broken,omitempty"`   // and one that breaks it
	Others   []string     `json:"others,omitempty"`   // fixtures beside those
	Engines  []Culprit    `json:"engines,omitempty"`  // broken engines that the rule must catch
	Uncaught string       `json:"uncaught,omitempty"` // why there is none
}

// RuleExample is a trace written by hand, drawn.
type RuleExample struct {
	Name     string   `json:"name"`
	About    string   `json:"about,omitempty"` // what happens in it
	Given    []string `json:"given,omitempty"` // attributes of the QPs, and what was ordered
	Ladder   string   `json:"ladder"`
	Findings []string `json:"findings,omitempty"` // what the rule says of it, a line each
}

// Culprit is an engine that is wrong on purpose.
type Culprit struct {
	Name   string `json:"name"` // as --impl takes it
	Breaks string `json:"breaks"`
}
