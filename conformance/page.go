// Package conformance holds the page that defines the verdicts; the judge is in the packages below.
package conformance

import _ "embed" // of the page

// Verdicts is the page that defines the verdicts, in Markdown.
//
//go:embed VERDICTS.md
var Verdicts string
