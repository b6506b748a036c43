//go:build sweep

package site

// everything makes tests look at all that there is.
const everything = true
