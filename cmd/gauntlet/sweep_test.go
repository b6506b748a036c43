//go:build sweep

package main

// everything makes tests look at all that there is.
const everything = true
