package passport

// Checked is what became of the check of a passport: who said it, and whether it is so.
type Checked struct {
	Passport *Passport `json:"passport"`
	Key      string    `json:"key"`    // fingerprint of the one that signed
	Signer   string    `json:"signer"` // the principals of the key
	Rules    Edition   `json:"rules"`

	Evidence bool     `json:"evidence"` // somebody looked at it
	Runs     int      `json:"runs"`     // that the passport has evidence of
	Whole    int      `json:"whole"`    // of those, with every file as the passport has it
	Verdicts int      `json:"verdicts"` // that were made again
	Doubts   []string `json:"doubts"`   // what is not so, a line each
}

// Edition is how the rules of this program are to those of a passport.
type Edition string

// The editions.
const (
	SameRules  Edition = "the same"
	OtherBuild Edition = "the same catalogue, in another build of the program"
	OtherRules Edition = "other rules"
)

// So reports whether nothing speaks against the passport.
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

// Compare says how the rules of a program with this version, commit and catalogue are to those of the passport. A build
// that has changes of its own is like no other.
func (t *Tool) Compare(o Tool) Edition {
	switch {
	case t.Rules != o.Rules:
		return OtherRules
	case *t != o || t.Commit == "" || len(t.Commit) != len("0123456789abcdef0123456789abcdef01234567"):
		return OtherBuild
	}
	return SameRules
}
