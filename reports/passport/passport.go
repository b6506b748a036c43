// Package passport is what was found out about a device or an implementation, in a form that others can check: who it
// is, what it was qualified for, by which rules, what the verdicts are, and the hashes of everything that they rest on.
//
// A passport travels as a statement of in-toto (see Encode), which package seal signs. It has no field for what tells
// of the lab, such as addresses, host names, users, paths and sentences of programs, but for those of Lab, which is
// there when somebody asked for it.
package passport

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
)

// Passport is what one qualification says.
type Passport struct {
	Made    string  `json:"made"` // RFC 3339: when the qualification began, as its folder has it
	Subject Subject `json:"subject"`
	Peer    string  `json:"peer"` // at the other end; the name of the subject itself when it met itself
	Bench   string  `json:"bench"`
	Profile Profile `json:"profile"`
	Tool    Tool    `json:"tool"`

	Qualified bool   `json:"qualified"`
	Status    string `json:"status"`             // the worst of what counts, as in a qualification
	Validity  string `json:"validity,omitempty"` // of the links; INVALID when one was in doubt

	Rules    []Rule    `json:"rules"`             // in the order of the catalogue
	Runs     []Run     `json:"runs"`              // what the verdicts rest on
	Beyond   []Beyond  `json:"beyond,omitempty"`  // verdicts of runs that their stored traces do not show
	Targets  []Target  `json:"targets,omitempty"` // no trace of their runs is kept
	Waivers  []Waiver  `json:"waivers,omitempty"`
	Sheet    []Figure  `json:"datasheet,omitempty"`
	Counters []Counter `json:"counters,omitempty"`

	Lab *Lab `json:"lab,omitempty"`
}

// Subject is who is judged. What is not known is "".
type Subject struct {
	Name     string   `json:"name"` // "gbn", "rxe"; of a program or an image its own, without path or registry
	Kind     string   `json:"kind"` // see the kinds
	Title    string   `json:"title,omitempty"`
	Version  string   `json:"version,omitempty"`  // of a program, as it says; of an engine, that of gauntlet
	Vendor   string   `json:"vendor,omitempty"`   // of a device: "0x15b3", by PCI
	Part     string   `json:"part,omitempty"`     // likewise, "0x101d", or the board's name "MT_0000000012"
	Firmware string   `json:"firmware,omitempty"` // "16.35.2000"
	Driver   string   `json:"driver,omitempty"`   // "mlx5_core"
	Kernel   string   `json:"kernel,omitempty"`   // that a device is a part of
	Declares []string `json:"declares"`           // the features, the recovery scheme first
}

// The kinds of subjects.
const (
	Engine  = "implementation" // of this repository
	Program = "program"        // that keeps images/CONTRACT.md
	Image   = "image"          // likewise
	Device  = "device"
)

// Label is what people call a subject: its name, and which of those it is.
func (s *Subject) Label() string {
	words := []string{s.Name}
	for _, w := range []string{s.Vendor, s.Part, s.Version, s.Firmware} {
		if w != "" {
			words = append(words, w)
		}
	}
	if s.Kind == Device && s.Firmware == "" && s.Kernel != "" {
		words = append(words, "of kernel "+s.Kernel)
	}
	return strings.Join(words, " ")
}

// Profile is what it was qualified for.
type Profile struct {
	Name      string `json:"name"`
	Title     string `json:"title"`
	Reference string `json:"reference"`
	SHA256    string `json:"sha256"` // of its meaning, see profiles.Profile.Hash
}

// Tool is the program that judged, and by what.
type Tool struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Rules   string `json:"rules"` // SHA-256 of the catalogue of rules
}

// Rule is what all runs together say of a rule.
type Rule struct {
	ID       string     `json:"id"`
	Level    rule.Level `json:"level"`
	Role     string     `json:"role,omitempty"` // of a device that is judged in two
	Status   string     `json:"status"`
	Required bool       `json:"required,omitempty"`
	Core     bool       `json:"core,omitempty"`
	Judged   int        `json:"judged,omitempty"`     // runs that exercised it
	Met      int        `json:"met,omitempty"`        // times that its situation arose
	Total    int        `json:"violations,omitempty"` // in all of them
}

// Name is the rule, and the role in which it was judged.
func (r *Rule) Name() string {
	if r.Role != "" {
		return r.ID + " (" + r.Role + ")"
	}
	return r.ID
}

// Run is a scenario that was played: the hashes of its evidence, and what its stored trace shows. The hashes are
// SHA-256.
type Run struct {
	Scenario     string `json:"scenario"`
	Role         string `json:"role,omitempty"`
	Folder       string `json:"folder"` // below that of the qualification, with slashes; "" when none is kept
	Status       string `json:"status"`
	Spec         string `json:"spec,omitempty"`         // of spec.txt
	Trace        string `json:"trace,omitempty"`        // of trace.ndjson; "" when there is none
	Certificates string `json:"certificates,omitempty"` // of the link, see Digest; "" of none, as in virtual time

	Captures map[string]string `json:"captures,omitempty"` // of what the taps saw, by the names of the files

	// Verdicts are the rules by status; no waiver has been applied. What is in none is INCONCLUSIVE or NOT-APPLICABLE.
	Verdicts map[string][]string `json:"verdicts,omitempty"`
}

// Name is that of the scenario, and of the role.
func (r *Run) Name() string {
	if r.Role != "" {
		return r.Scenario + " (" + r.Role + ")"
	}
	return r.Scenario
}

// Beyond is a verdict of a run that its stored trace does not show: a trace ends where it became too long, and of a
// device it does not hold all that is known of a run.
type Beyond struct {
	Scenario string `json:"scenario"`
	Role     string `json:"role,omitempty"`
	Rule     string `json:"rule"`
	Said     string `json:"said"`  // status, by the run
	Shown    string `json:"shown"` // by its trace
}

// Target is a number beside its bound.
type Target struct {
	Claim  string   `json:"claim"` // that the bound comes from
	Name   string   `json:"name"`
	Unit   string   `json:"unit,omitempty"`
	Value  *float64 `json:"value,omitempty"` // absent when it was not measured
	Least  float64  `json:"least,omitempty"` // of the interval around it
	Most   float64  `json:"most,omitempty"`
	N      int      `json:"n,omitempty"` // seeds
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	Status string   `json:"status"`
}

// Waiver is a waiver that names the subject, and what became of it. Text and owner are there of those that come with
// the program; of others they are in Lab.
type Waiver struct {
	Rule    string `json:"rule"`
	Expires string `json:"expires"`
	Status  string `json:"status"`
	Owner   string `json:"owner,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// Figure is a row of the datasheet.
type Figure = datasheet.Row

// Counter is what a counter of the device said over all runs, beside what the wire has.
type Counter struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
	Low   int64  `json:"low"`  // the wire has at least
	High  int64  `json:"high"` // and at most; below zero when nobody knows
	Seen  int    `json:"seen"` // runs
	Wrong int    `json:"wrong"`
}

// Lab is what tells of the lab.
type Lab struct {
	Command     string            `json:"command"`
	Folder      string            `json:"folder"`
	Subject     string            `json:"subject"` // as it was named
	Environment map[string]string `json:"environment"`
	Reasons     []string          `json:"reasons"`
	Findings    []string          `json:"findings"` // the first of each rule
	Waivers     []string          `json:"waivers"`  // who answers for each, and why
}

// Decided are the statuses of verdicts that a run keeps.
var Decided = []string{rule.Pass.String(), rule.Invalid.String(), rule.Error.String(), rule.Fail.String()}

// Plain is a status without what a waiver made of it.
func Plain(status string) string {
	switch status {
	case rule.XFail.String():
		return rule.Fail.String()
	case rule.XPass.String():
		return rule.Pass.String()
	}
	return status
}

// Verdict is what the passport says, in a word.
func (p *Passport) Verdict() string {
	if p.Qualified {
		return "QUALIFIED"
	}
	return "NOT QUALIFIED"
}

// Find returns the rule of a name, nil when there is none.
func (p *Passport) Find(name string) *Rule {
	if i := slices.IndexFunc(p.Rules, func(r Rule) bool { return r.Name() == name }); i >= 0 {
		return &p.Rules[i]
	}
	return nil
}

// sorted sorts what a passport has in no order of its own.
func (p *Passport) sorted() {
	for i := range p.Runs {
		for _, list := range p.Runs[i].Verdicts {
			slices.Sort(list)
		}
	}
	slices.SortFunc(p.Counters, func(a, b Counter) int { return cmp.Compare(a.Name, b.Name) })
}
