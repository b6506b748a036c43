package html

// Hostile returns a hostile result, for the tests in a browser.
var Hostile = hostile

// HostileMatrix returns a hostile matrix, for the tests in a browser.
var HostileMatrix = hostileMatrix
