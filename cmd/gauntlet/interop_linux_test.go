//go:build netns

package main

import "testing"

// The same on real devices.
func TestGoBackNIgnoresExtensionsNetns(t *testing.T) {
	path, each := foreigners(t)
	r, _ := onNetns(t, path)
	undisturbed(t, r, each)
}
