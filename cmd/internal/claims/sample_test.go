//go:build !sweep

package claims

// everything makes tests look at all that there is: with the build tag sweep, as `make sweep` has it.
const everything = false
