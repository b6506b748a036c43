//go:build less

package all

// everything makes tests remove evidence from every scenario, in more ways.
const everything = true
