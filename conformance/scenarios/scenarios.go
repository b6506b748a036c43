// Package scenarios holds the stimuli of the conformance suite: requests, losses and injected packets, for any
// implementation. It holds no expected times and no ladders; the rules judge the behaviour.
//
// A file is scenario text with prose on top, whose first line is the title, and with two more verbs:
//
//	# A lost middle packet is answered by one NAK.
//	judge GBN-NAK-001 GBN-NAK-002
//	without pack
//	link rate=100M delay=1ms
//	drop A psn=+2 tx=1
//	post-write wr=1 len=5120
//
// The rules after judge are those that the scenario must exercise. All other rules are judged too. The scenario does
// not apply to an implementation that declares a feature after without: it takes none of the requests, or the losses
// include its connection set-up. Links are slow, round trips short and packets few, so that a scenario lasts about a
// second in real time.
package scenarios

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

//go:embed *.txt random/*.txt device/*.txt
var files embed.FS

// Scenario is one stimulus.
type Scenario struct {
	Name    string   // the file without .txt: "loss-middle", "random/burst"
	Title   string   // first line of the prose
	Text    string   // scenario text, in which the lines of judge and without are empty
	Rules   []string // rules that must be exercised, in the order of the file
	Without []string // features of implementations to which it does not apply
	// it addresses single packets or needs a loss model of this project, so that the kernel's netem cannot run it
	NeedsFaults bool
}

// All returns all scenarios for implementations, in the order of names. The caller may keep and change the slice.
func All() []Scenario { return matching("*.txt", "random/*.txt") }

// Device returns the scenarios for foreign devices only, in the order of names: they rely on the behaviour of the tool
// above a device, or replace a scenario of All that no tool can run.
func Device() []Scenario { return matching("device/*.txt") }

// matching returns the scenarios whose files match.
func matching(patterns ...string) []Scenario {
	var all []Scenario
	for _, pattern := range patterns {
		names, _ := fs.Glob(files, pattern) // the patterns are well-formed
		for _, name := range names {
			text, _ := files.ReadFile(name) // matching files are embedded
			all = append(all, New(strings.TrimSuffix(name, ".txt"), string(text)))
		}
	}
	slices.SortFunc(all, func(a, b Scenario) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// New parses the text of a file.
func New(name, text string) Scenario {
	s := Scenario{Name: name}
	var kept []string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) > 0 && words[0] == "judge":
			s.Rules = append(s.Rules, words[1:]...)
			line = "" // keeps the numbers of the lines below
		case len(words) > 0 && words[0] == "without":
			s.Without = append(s.Without, words[1:]...)
			line = ""
		case s.Title == "" && strings.HasPrefix(line, "# "):
			s.Title = strings.TrimSuffix(line[2:], ".")
		}
		s.NeedsFaults = s.NeedsFaults || needsRelay(words)
		kept = append(kept, line)
	}
	s.Text = strings.Join(kept, "\n") + "\n"
	return s
}

// needsRelay reports whether only this project's own link can carry out a statement.
func needsRelay(words []string) bool {
	if len(words) == 0 {
		return false
	}
	switch words[0] {
	case "drop", "dup", "delay", "reorder", "corrupt", "rewrite", "mark", "inject":
		return true
	case "loss":
		return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "burst") || w == "tape" })
	}
	return false
}

// Spec parses the text. Errors name the scenario, the line and the remedy.
func (s *Scenario) Spec() (*scenario.Spec, error) {
	spec, err := scenario.Parse(strings.NewReader(s.Text))
	if err != nil {
		return nil, fmt.Errorf("scenario %s: line %w", s.Name, err)
	}
	return spec, nil
}
