//go:build !less

package all

// everything makes tests remove evidence from every broken engine, in more ways; it is set by the build tag less (`make
// less`).
const everything = false
