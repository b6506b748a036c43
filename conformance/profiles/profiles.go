// Package profiles holds the profiles for which an implementation can qualify, as text: the features that it must
// declare, the families of rules that it must not break, the core rules that must PASS, and performance targets
// relative to a reference.
//
//	# Go-back-N over RoCEv2
//	declares rc gbn
//	reference gbn
//	families WIRE RC NEG GBN
//	core GBN-NAK-001 GBN-RTX-001
//	target lossy PT-LW-02
//	link rate=100M delay=20ms
//	loss A>B random p=1e-3
//
// A target names the claim of package perf/targets from which its bound comes, and its check, "PT-G1-09 : IRN at 1e-3",
// if the claim has several; the lines below it, up to the next target, are the scenario of its runs.
package profiles

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

//go:embed *.txt
var files embed.FS

// Profile is one profile.
type Profile struct {
	Name      string   `json:"name"`      // "rc-gbn": the file without .txt
	Title     string   `json:"title"`     // its first comment
	Declares  []string `json:"declares"`  // features that an implementation must declare
	Reference string   `json:"reference"` // the implementation with which targets compare
	Families  []string `json:"families"`  // families of rules: GBN
	Core      []string `json:"core"`      // rules that must PASS: INCONCLUSIVE is not enough
	Targets   []Target `json:"targets"`
}

// Target is a comparison of one number of an implementation with that of the reference.
type Target struct {
	Name  string `json:"name"`
	Claim string `json:"claim"`           // ID of the claim from which the bound comes: PT-LW-02
	Check string `json:"check,omitempty"` // check of the claim, if it has several
	Text  string `json:"text"`            // scenario lines of the runs
}

// Spec parses the scenario.
func (t *Target) Spec() (*scenario.Spec, error) {
	s, err := scenario.Parse(strings.NewReader(t.Text))
	if err != nil {
		return nil, fmt.Errorf("target %s: line %w", t.Name, err)
	}
	return s, nil
}

// Requires reports whether the profile requires a rule: it is a MUST or MUST NOT, and of a family of the profile.
func (p *Profile) Requires(id string, level rule.Level) bool {
	family, _, _ := strings.Cut(id, "-")
	return (level == rule.Must || level == rule.MustNot) && slices.Contains(p.Families, family)
}

// Hash returns the SHA-256 of the requirements of a profile in hexadecimal; name and comments do not count.
func (p *Profile) Hash() string {
	plain := *p
	plain.Name, plain.Title = "", ""
	text, _ := json.Marshal(&plain) // it has strings only, so it always marshals
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Missing returns the first feature that the profile asks for and that is not declared; "" when all are.
func (p *Profile) Missing(declared []string) string {
	for _, f := range p.Declares {
		if !slices.Contains(declared, f) {
			return f
		}
	}
	return ""
}

// IsCore reports whether a rule must PASS.
func (p *Profile) IsCore(id string) bool { return slices.Contains(p.Core, id) }

// Filter returns the label filter of package conformance/suite that selects the scenarios of the profile.
func (p *Profile) Filter() string {
	return "family:" + strings.Join(p.Families, " || family:")
}

// All returns the profiles of the program, in the order of their names.
func All() []Profile {
	names, _ := fs.Glob(files, "*.txt") // the pattern is well-formed
	all := make([]Profile, 0, len(names))
	for _, name := range names {
		text, _ := files.ReadFile(name)                               // embedded
		p, _ := Parse(strings.TrimSuffix(name, ".txt"), string(text)) // tested
		all = append(all, p)
	}
	return all
}

// Names returns the names of the profiles of the program.
func Names() (names []string) {
	for _, p := range All() {
		names = append(names, p.Name)
	}
	return names
}

// mostText bounds the bytes of the file of a profile.
const mostText = 64 << 10

// Find returns the profile with a name or, for a name with a dot or a slash, the profile in that file.
func Find(name string) (Profile, error) {
	if strings.ContainsAny(name, "./") {
		return read(name)
	}
	for _, p := range All() {
		if p.Name == name {
			return p, nil
		}
	}
	return Profile{}, fmt.Errorf("profile %.60q: unknown; known: %s, or a file such as ./mine.txt", name,
		strings.Join(Names(), " "))
}

func read(path string) (Profile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Profile{}, fmt.Errorf("profile: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > mostText {
		return Profile{}, fmt.Errorf("profile %s: want a file of %d bytes at most", path, mostText)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Profile{}, fmt.Errorf("profile: %w", err)
	}
	name := path[strings.LastIndex(path, "/")+1:]
	return Parse(strings.TrimSuffix(name, ".txt"), string(text))
}

// Parse reads the text of a profile. The error names the line, or the missing part.
func Parse(name, text string) (Profile, error) {
	p := Profile{Name: name}
	for i, line := range strings.Split(text, "\n") {
		if err := p.line(strings.TrimSpace(line)); err != nil {
			return p, fmt.Errorf("profile %s: %d: %w", name, i+1, err)
		}
	}
	if err := p.check(); err != nil {
		return p, fmt.Errorf("profile %s: %w", name, err)
	}
	return p, nil
}

// line parses one line. After a target line, lines are of the target's scenario.
func (p *Profile) line(line string) error {
	if line == "" || line[0] == '#' {
		if p.Title == "" && line != "" && len(p.Targets) == 0 {
			p.Title = strings.TrimSuffix(strings.TrimSpace(line[1:]), ".")
		}
		return nil
	}
	words := strings.Fields(line)
	if words[0] == "target" {
		return p.begin(line, words)
	}
	if n := len(p.Targets); n > 0 {
		p.Targets[n-1].Text += line + "\n"
		return nil
	}
	if len(words) < 2 {
		return fmt.Errorf("%.40q: want a word and its values", line)
	}
	switch words[0] {
	case "declares":
		p.Declares = append(p.Declares, words[1:]...)
	case "reference":
		p.Reference = words[1]
	case "families":
		p.Families = append(p.Families, words[1:]...)
	case "core":
		p.Core = append(p.Core, words[1:]...)
	default:
		return fmt.Errorf("%.40q: want declares, reference, families, core or target", words[0])
	}
	return nil
}

// begin parses a target line: the name of the target, and the claim of its bound.
func (p *Profile) begin(line string, words []string) error {
	if len(words) < 3 || len(words) > 3 && words[3] != ":" {
		return fmt.Errorf("%.60q: want target NAME CLAIM, or target NAME CLAIM : CHECK", line)
	}
	_, check, _ := strings.Cut(line, " : ")
	p.Targets = append(p.Targets, Target{Name: words[1], Claim: words[2], Check: strings.TrimSpace(check)})
	return nil
}

// check returns an error that names a missing or wrong part.
func (p *Profile) check() error {
	switch {
	case p.Title == "" || len(p.Declares) == 0 || p.Reference == "":
		return fmt.Errorf("want a comment as title, and the lines declares and reference")
	case len(p.Families) == 0 || len(p.Core) == 0:
		return fmt.Errorf("want families of rules, and core rules among them; without, everybody would qualify")
	}
	for _, id := range p.Core {
		if !p.Requires(id, rule.Must) {
			return fmt.Errorf("core rule %s is of no family of the profile", id)
		}
	}
	for i := range p.Targets {
		if _, err := p.Targets[i].Spec(); err != nil {
			return err
		}
	}
	return nil
}
