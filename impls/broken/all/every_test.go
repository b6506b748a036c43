//go:build less

package all

// everything makes tests lose evidence of every broken engine, in more ways.
const everything = true
