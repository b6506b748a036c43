//go:build less

package meta

// everything makes tests remove evidence in every way.
const everything = true
