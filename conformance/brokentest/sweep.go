//go:build sweep

package brokentest

// everything makes tests run all cases from every start PSN.
const everything = true
