package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Hash returns the SHA-256 of the catalogue, in hexadecimal: of the title, source and needs of every rule. Two builds
// with the same hash may still judge differently if a defect of a check was fixed between them.
func Hash() string {
	sum := sha256.New()
	for _, r := range All() {
		fmt.Fprintf(sum, "%q %q %q %q %q %v %v %q %q %v %q %q %v\n",
			r.ID, r.Level, r.Title, r.Source.Ref, r.Source.Requirement, r.Needs, r.RestsOn(), r.Features, r.Without,
			r.Any, r.Stimulus, r.BlackBox, r.Unbuilt == "")
	}
	return hex.EncodeToString(sum.Sum(nil))
}
