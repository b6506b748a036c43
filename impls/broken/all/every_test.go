//go:build less

package all

// everything makes tests remove evidence from every broken engine, in more ways.
const everything = true
