//go:build sweep

package claims

// everything makes tests look at all that there is.
const everything = true
