//go:build less

package meta

// everything makes tests lose evidence in every way that there is.
const everything = true
