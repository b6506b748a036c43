// Package passport holds the findings about a device or an implementation in a form that others can check: the subject,
// the profile, the rules, the verdicts, and the hashes of all evidence.
//
// A passport is published as an in-toto statement (see Encode), which package seal signs. Facts about the lab, such as
// addresses, host names, users, paths and output of programs, are only in the field Lab, which is set on request.
package passport

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
)

// Passport is the result of one qualification.
type Passport struct {
	Made    string  `json:"made"` // RFC 3339: when the qualification began, as its folder has it
	Subject Subject `json:"subject"`
	Peer    string  `json:"peer"` // implementation at the other end; the name of the subject if it met itself
	Bench   string  `json:"bench"`
	Profile Profile `json:"profile"`
	Tool    Tool    `json:"tool"`

	Qualified bool   `json:"qualified"`
	Status    string `json:"status"`             // worst status that counts, as in a qualification
	Validity  string `json:"validity,omitempty"` // of the links; INVALID if one was in doubt

	Rules    []Rule    `json:"rules"`             // in the order of the catalogue
	Runs     []Run     `json:"runs"`              // runs on which the verdicts rest
	Beyond   []Beyond  `json:"beyond,omitempty"`  // verdicts of runs that their stored traces do not show
	Targets  []Target  `json:"targets,omitempty"` // the traces of their runs are not kept
	Waivers  []Waiver  `json:"waivers,omitempty"`
	Sheet    []Figure  `json:"datasheet,omitempty"`
	Counters []Counter `json:"counters,omitempty"`

	Lab *Lab `json:"lab,omitempty"`
}

// Subject is the implementation or device that was judged. An unknown value is "".
type Subject struct {
	Name     string   `json:"name"` // "gbn", "rxe"; for a program or an image without path or registry
	Kind     string   `json:"kind"` // see the kinds
	Title    string   `json:"title,omitempty"`
	Version  string   `json:"version,omitempty"`  // of a program, as declared; of an engine, that of gauntlet
	Vendor   string   `json:"vendor,omitempty"`   // of a device: "0x15b3", by PCI
	Part     string   `json:"part,omitempty"`     // likewise, "0x101d", or the board's name "MT_0000000012"
	Firmware string   `json:"firmware,omitempty"` // "16.35.2000"
	Driver   string   `json:"driver,omitempty"`   // "mlx5_core"
	Kernel   string   `json:"kernel,omitempty"`   // of which a device is a part
	Declares []string `json:"declares"`           // the features, the recovery scheme first
}

// The kinds of subjects.
const (
	Engine  = "implementation" // of this repository
	Program = "program"        // that keeps images/CONTRACT.md
	Image   = "image"          // likewise
	Device  = "device"
)

// Label returns the name of a subject with its vendor, part, version and firmware, as far as they are known.
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

// Profile is the profile of the qualification.
type Profile struct {
	Name      string `json:"name"`
	Title     string `json:"title"`
	Reference string `json:"reference"`
	SHA256    string `json:"sha256"` // of its content, see profiles.Profile.Hash
}

// Tool is the program that judged, with its rules.
type Tool struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Rules   string `json:"rules"` // SHA-256 of the catalogue of rules
}

// Rule is the combined verdict of all runs about a rule.
type Rule struct {
	ID       string     `json:"id"`
	Level    rule.Level `json:"level"`
	Role     string     `json:"role,omitempty"` // of a device that is judged in two roles
	Status   string     `json:"status"`
	Required bool       `json:"required,omitempty"`
	Core     bool       `json:"core,omitempty"`
	Judged   int        `json:"judged,omitempty"`     // runs that exercised it
	Met      int        `json:"met,omitempty"`        // times that its stimulus arose
	Total    int        `json:"violations,omitempty"` // in all of them
}

// Name returns the ID of the rule, with the role in which it was judged.
func (r *Rule) Name() string {
	if r.Role != "" {
		return r.ID + " (" + r.Role + ")"
	}
	return r.ID
}

// Run is a scenario that was played: the SHA-256 hashes of its evidence, and the verdicts from its stored trace.
type Run struct {
	Scenario     string `json:"scenario"`
	Role         string `json:"role,omitempty"`
	Folder       string `json:"folder"` // below the folder of the qualification, with slashes; "" if not kept
	Status       string `json:"status"`
	Spec         string `json:"spec,omitempty"`         // of spec.txt
	Trace        string `json:"trace,omitempty"`        // of trace.ndjson; "" without one
	Certificates string `json:"certificates,omitempty"` // of the link, see Digest; "" without any, as in virtual time

	Captures map[string]string `json:"captures,omitempty"` // of the captures, by file name

	// Verdicts are the rules by status, without waivers. A rule in none is INCONCLUSIVE or NOT-APPLICABLE.
	Verdicts map[string][]string `json:"verdicts,omitempty"`
}

// Name returns the name of the scenario, with the role.
func (r *Run) Name() string {
	if r.Role != "" {
		return r.Scenario + " (" + r.Role + ")"
	}
	return r.Scenario
}

// Beyond is a verdict of a run that its stored trace does not give: the trace ends at its limit, and for a device it
// lacks some of the evidence.
type Beyond struct {
	Scenario string `json:"scenario"`
	Role     string `json:"role,omitempty"`
	Rule     string `json:"rule"`
	Said     string `json:"said"`  // status in the run
	Shown    string `json:"shown"` // status by its stored trace
}

// Target is a number with its bound.
type Target struct {
	Claim  string   `json:"claim"` // source of the bound
	Name   string   `json:"name"`
	Unit   string   `json:"unit,omitempty"`
	Value  *float64 `json:"value,omitempty"` // nil if not measured
	Least  float64  `json:"least,omitempty"` // lower end of the interval around Value
	Most   float64  `json:"most,omitempty"`
	N      int      `json:"n,omitempty"` // number of seeds
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	Status string   `json:"status"`
}

// Waiver is a waiver that names the subject, and its outcome. Reason and Owner are set for waivers of the program
// itself; those of other waivers are in Lab.
type Waiver struct {
	Rule    string `json:"rule"`
	Expires string `json:"expires"`
	Status  string `json:"status"`
	Owner   string `json:"owner,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// Figure is a row of the datasheet.
type Figure = datasheet.Row

// Counter compares a counter of the device over all runs with the packets.
type Counter struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
	Low   int64  `json:"low"`  // the packets give at least this value
	High  int64  `json:"high"` // and at most this one; below zero if unknown
	Seen  int    `json:"seen"` // number of runs
	Wrong int    `json:"wrong"`
}

// Lab holds the facts about the lab.
type Lab struct {
	Command     string            `json:"command"`
	Folder      string            `json:"folder"`
	Subject     string            `json:"subject"` // as the user named it
	Environment map[string]string `json:"environment"`
	Reasons     []string          `json:"reasons"`
	Findings    []string          `json:"findings"` // first finding of each rule
	Waivers     []string          `json:"waivers"`  // owner and reason of each
}

// Decided are the statuses of the verdicts in Run.
var Decided = []string{rule.Pass.String(), rule.Invalid.String(), rule.Error.String(), rule.Fail.String()}

// Plain returns a status as it is without a waiver.
func Plain(status string) string {
	switch status {
	case rule.XFail.String():
		return rule.Fail.String()
	case rule.XPass.String():
		return rule.Pass.String()
	}
	return status
}

// Verdict returns the outcome in a word or two, by the status.
func (p *Passport) Verdict() string { return p.outcome().Qualifies() }

// outcome returns the status; one that is none is an error.
func (p *Passport) outcome() (s rule.Status) {
	if s.UnmarshalText([]byte(p.Status)) != nil {
		return rule.Error
	}
	return s
}

// Find returns the rule with a name; nil if there is none.
func (p *Passport) Find(name string) *Rule {
	if i := slices.IndexFunc(p.Rules, func(r Rule) bool { return r.Name() == name }); i >= 0 {
		return &p.Rules[i]
	}
	return nil
}

// sorted sorts the lists of a passport that have no order of their own.
func (p *Passport) sorted() {
	for i := range p.Runs {
		for _, list := range p.Runs[i].Verdicts {
			slices.Sort(list)
		}
	}
	slices.SortFunc(p.Counters, func(a, b Counter) int { return cmp.Compare(a.Name, b.Name) })
}
