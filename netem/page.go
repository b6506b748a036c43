// Package netem holds the page about links; their models and makers are in the packages below.
package netem

import _ "embed" // of the page

// Links is the help page about the effects of a link, in Markdown.
//
//go:embed LINKS.md
var Links string
