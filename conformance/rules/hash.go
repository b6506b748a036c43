package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Hash is the SHA-256 of the catalogue, in hexadecimal: what every rule asks for, by what right, and what it needs to
// see. Two builds of this program may have the same and yet judge differently, where a mistake was mended between them.
func Hash() string {
	sum := sha256.New()
	for _, r := range All() {
		fmt.Fprintf(sum, "%q %q %q %q %q %v %v %q %q %v %q %q %v\n",
			r.ID, r.Level, r.Title, r.Source.Ref, r.Source.Requirement, r.Needs, r.RestsOn(), r.Features, r.Without,
			r.Any, r.Stimulus, r.BlackBox, r.Unbuilt == "")
	}
	return hex.EncodeToString(sum.Sum(nil))
}
