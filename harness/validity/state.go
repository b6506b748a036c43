package validity

// The words for whether a run's link, capture and host were what its Spec says.
const (
	Valid   = "VALID"
	Invalid = "INVALID"
)

// State accompanies the verdict on a device: whether link, capture and host were as the Spec says.
type State struct {
	// Valid or Invalid; "" where nothing is certified, as in virtual time
	Validity string `json:"validity,omitempty"`
	// the first property that failed, in a sentence; "" unless Invalid
	Doubt string `json:"validity_reason,omitempty"`
}

// Doubtful reports whether a property failed.
func (s State) Doubtful() bool { return s.Validity == Invalid }

// Beside formats a verdict with the link's state: "FAIL (link INVALID)". The verdict INVALID, and a verdict over a link
// that is not in doubt, stand alone.
func (s State) Beside(status string) string {
	if s.Note(status) == "" {
		return status
	}
	return status + " (link INVALID)"
}

// Note returns the sentence that explains the addition of Beside to a status; "" when Beside adds none.
func (s State) Note(status string) string {
	if !s.Doubtful() || status == Invalid {
		return ""
	}
	return "link INVALID " + s.Doubt
}
