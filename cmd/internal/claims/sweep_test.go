//go:build sweep

package claims

// everything makes tests cover all cases, not a sample.
const everything = true
