// Package conformance holds the page about verdicts; the judge is in the packages below.
package conformance

import _ "embed" // of the page

// Verdicts is the page about what a verdict means, in Markdown.
//
//go:embed VERDICTS.md
var Verdicts string
