//go:build !sweep

package claims

// everything makes tests cover all cases, not a sample; the build tag sweep of make sweep sets it.
const everything = false
