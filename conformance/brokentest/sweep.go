//go:build sweep

package brokentest

// everything makes tests run all that there is, at every start.
const everything = true
