//go:build !sweep

package brokentest

// everything makes tests run all that there is, at every start: with the build tag sweep, as `make sweep` has it.
const everything = false
