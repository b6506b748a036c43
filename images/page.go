// Package images holds the page of the contract, which programs in images keep.
package images

import _ "embed" // of the page

// Contract says how a program becomes an endpoint, in Markdown.
//
//go:embed CONTRACT.md
var Contract string
