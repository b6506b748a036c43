//go:build !less

package meta

// everything makes tests remove evidence in every way; it is set by the build tag less (`make less`).
const everything = false
