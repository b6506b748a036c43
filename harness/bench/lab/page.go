package lab

import _ "embed" // of the page

// Page says what a guest is for and how it is used, in Markdown.
//
//go:embed LAB.md
var Page string
