package validity

// The words for whether a run's link, capture and host were what its Spec says.
const (
	Valid   = "VALID"
	Invalid = "INVALID"
)

// State stands beside the verdict on a device and says whether link, capture and host were what the Spec says.
type State struct {
	// Valid or Invalid; "" where nothing is certified, as in virtual time
	Validity string `json:"validity,omitempty"`
	// the first property that failed, in a sentence; "" unless Invalid
	Doubt string `json:"validity_reason,omitempty"`
}

// Doubtful reports whether a property failed.
func (s State) Doubtful() bool { return s.Validity == Invalid }

// Beside is a verdict and the link's state side by side: "FAIL (link INVALID)". A verdict that says as much itself, and
// one over a link that is not in doubt, stands alone.
func (s State) Beside(status string) string {
	if s.Note(status) == "" {
		return status
	}
	return status + " (link INVALID)"
}

// Note says in a sentence what Beside adds to a status; "" when that is nothing.
func (s State) Note(status string) string {
	if !s.Doubtful() || status == Invalid {
		return ""
	}
	return "link INVALID " + s.Doubt
}
