//go:build !less

package all

// everything makes tests remove evidence from every scenario, in more ways; it is set by the build tag less (`make
// less`).
const everything = false
