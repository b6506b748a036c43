package suite

import (
	"github.com/onsi/gomega/gcustom"
	"github.com/onsi/gomega/types"
)

// keepTheRules succeeds when the outcome has passed. Its failure message is the whole outcome, so that every finding is
// shown and not the first only.
func keepTheRules() types.GomegaMatcher {
	return gcustom.MakeMatcher(func(o *Outcome) (bool, error) { return o.Passed(), nil }).WithTemplate("{{.Actual}}")
}
