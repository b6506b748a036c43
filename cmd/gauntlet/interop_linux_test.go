//go:build netns

package main

import "testing"

// Go-back-N ignores the extensions of other schemes on real devices as well.
func TestGoBackNIgnoresExtensionsNetns(t *testing.T) {
	path, each := foreigners(t)
	r, _ := onNetns(t, path)
	undisturbed(t, r, each)
}
