// Package netem holds the page about links; their models and makers are in the packages below.
package netem

import _ "embed" // of the page

// Links is the page about what a link does, in Markdown.
//
//go:embed LINKS.md
var Links string
