//go:build !less

package meta

// everything makes tests lose evidence in every way that there is: with the build tag less, as `make less` has it.
const everything = false
