// Package build says what the running program was built from, for reports and for the labels of images.
package build

import "runtime/debug"

// release is the version of the tool; it is set when a release is built (-ldflags -X with the path of this package, .release=…).
var release = "0.1.0-dev"

// Version returns the version of the tool, such as "0.1.0".
func Version() string { return release }

// Commit returns the revision that the binary was built from, "" when the build did not record it.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	rev, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if rev == "" {
		return ""
	}
	return rev + dirty
}
