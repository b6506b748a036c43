//go:build !sweep

package brokentest

// everything makes tests run all cases from every start PSN. It is true with the build tag sweep (`make sweep`).
const everything = false
