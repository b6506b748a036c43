// Package build says what the running program was built from and how it was started, for reports and for the labels of images.
package build

import (
	"os"
	"runtime/debug"
	"strings"
)

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

// CommandLine is how this process was started, quoted for a shell.
func CommandLine() string {
	words := []string{"gauntlet"}
	for _, a := range os.Args[1:] {
		if a == "" || strings.ContainsAny(a, " \t'\"$&|<>;*?()#\\") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}
