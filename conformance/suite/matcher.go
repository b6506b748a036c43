package suite

import (
	"github.com/onsi/gomega/gcustom"
	"github.com/onsi/gomega/types"
)

// keepTheRules succeeds when the outcome has passed. Its failure message is the outcome as a whole, because every
// finding is to be seen and not the first.
func keepTheRules() types.GomegaMatcher {
	return gcustom.MakeMatcher(func(o *Outcome) (bool, error) { return o.Passed(), nil }).WithTemplate("{{.Actual}}")
}
