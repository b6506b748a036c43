package html

// Hostile is for the tests in a browser.
var Hostile = hostile

// HostileMatrix is likewise.
var HostileMatrix = hostileMatrix
