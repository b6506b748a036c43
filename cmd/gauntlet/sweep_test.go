//go:build sweep

package main

// everything makes tests cover all cases, not a sample.
const everything = true
