//go:build !less

package all

// everything makes tests lose evidence of every broken engine, in more ways: with the build tag less, as `make less`
// has it.
const everything = false
