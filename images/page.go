// Package images holds the contract page, which the programs in container images keep.
package images

import _ "embed" // of the page

// Contract is the text of CONTRACT.md: how a program becomes an endpoint.
//
//go:embed CONTRACT.md
var Contract string
