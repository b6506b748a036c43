//go:build !sweep

package meta

// everything makes tests lose evidence in every way that there is: with the build tag sweep, as `make less` has it.
const everything = false
