//go:build less

package all

// everything makes tests lose evidence of every scenario, in more ways.
const everything = true
