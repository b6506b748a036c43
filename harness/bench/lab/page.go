package lab

import _ "embed" // of the page

// Page is the documentation of guests, in Markdown: their purpose and use.
//
//go:embed LAB.md
var Page string
