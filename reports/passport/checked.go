package passport

// Checked is the outcome of the check of a passport: its signer, and whether it agrees with its evidence.
type Checked struct {
	Passport *Passport `json:"passport"`
	Key      string    `json:"key"`    // fingerprint of the key that signed
	Signer   string    `json:"signer"` // the principals of the key
	Rules    Edition   `json:"rules"`

	Evidence bool     `json:"evidence"` // the evidence was checked
	Runs     int      `json:"runs"`     // of which the passport has evidence
	Whole    int      `json:"whole"`    // of those, with every file as in the passport
	Verdicts int      `json:"verdicts"` // judged again
	Doubts   []string `json:"doubts"`   // disagreements, a line each
}

// Edition compares the rules of this program with those of a passport.
type Edition string

// The editions.
const (
	SameRules  Edition = "the same"
	OtherBuild Edition = "the same catalogue, in another build of the program"
	OtherRules Edition = "other rules"
)

// So reports whether no doubt about the passport was found.
func (c *Checked) So() bool { return len(c.Doubts) == 0 }

// Verdict is the outcome of a check in a word.
func (c *Checked) Verdict() string {
	switch {
	case !c.So():
		return "NOT SO"
	case !c.Evidence:
		return "SIGNED"
	}
	return "VERIFIED"
}

// Compare compares the rules of a program with this version, commit and catalogue with those of the passport. A build
// with local changes equals no other.
func (t *Tool) Compare(o Tool) Edition {
	switch {
	case t.Rules != o.Rules:
		return OtherRules
	case *t != o || t.Commit == "" || len(t.Commit) != len("0123456789abcdef0123456789abcdef01234567"):
		return OtherBuild
	}
	return SameRules
}
