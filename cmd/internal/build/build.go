// Package build says what the running program was built from and how it was started, for reports and for the labels of
// images.
package build

import (
	_ "embed"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// release is the version of the tool; it is set when a release is built.
var release = "0.1.0-dev"

// ReleaseFlag is what sets it, before the version: go build -ldflags "-X github.com/…/build.release=1.2.3".
const ReleaseFlag = "github.com/rdma-gauntlet/gauntlet/cmd/internal/build.release="

// archive is the commit of an archive, such as GitHub makes of a tag, and when it was committed: git puts them into
// this file (export-subst in .gitattributes). In a clone it holds what git is to put there.
//
//go:embed archive.txt
var archive string

// source is what the program was built from.
type source struct {
	commit string // with "+changes" where the working tree had some; "" when unknown
	time   string // of the commit, RFC 3339 in UTC; "" when unknown
}

// from is read once: the program does not change.
var from = func() source {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return find(info, archive)
}()

// find takes what the build recorded of the repository, else what git put into an archive, else the version of the
// module, as go install MODULE@VERSION knows it.
func find(info *debug.BuildInfo, archive string) (s source) {
	dirty := ""
	for _, x := range info.Settings {
		switch {
		case x.Key == "vcs.revision":
			s.commit = x.Value
		case x.Key == "vcs.time":
			s.time = x.Value
		case x.Key == "vcs.modified" && x.Value == "true":
			dirty = "+changes"
		}
	}
	if s.commit != "" {
		s.commit += dirty
		return s
	}
	if words := strings.Fields(archive); len(words) == 2 && !strings.Contains(archive, "$") {
		return source{commit: words[0], time: utc(time.RFC3339, words[1])}
	}
	return pseudo(info.Main.Version)
}

// pseudo reads a version such as v0.1.1-0.20261124151401-1bb40af01234, which Go makes of a commit without a tag; of a
// tag nothing is known but its name.
func pseudo(version string) source {
	version, _, _ = strings.Cut(version, "+")
	parts := strings.Split(version, "-")
	if len(parts) < 3 || len(parts[len(parts)-1]) != 12 {
		return source{}
	}
	stamp := parts[len(parts)-2]
	return source{commit: parts[len(parts)-1], time: utc("20060102150405", stamp[strings.LastIndex(stamp, ".")+1:])}
}

// utc is a time as RFC 3339 has it; "" of what is none.
func utc(layout, text string) string {
	t, err := time.Parse(layout, text)
	if err != nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Version returns the version of the tool, such as "0.1.0"; where the time of its commit is known that stands behind it
// as what SemVer calls build metadata, "0.1.0+20261124T151401Z", so that every result and every page has it.
func Version() string {
	if from.time == "" || strings.Contains(release, "+") {
		return release
	}
	return release + "+" + strings.NewReplacer("-", "", ":", "").Replace(from.time)
}

// Commit returns the revision that the binary was built from, "" when nothing tells.
func Commit() string { return from.commit }

// Time returns when that was committed, RFC 3339, "" when nothing tells.
func Time() string { return from.time }

// CommandLine is how this process was started, quoted for a shell.
func CommandLine() string { return Quoted(os.Args[1:]) }

// Quoted is a command line of this program, quoted for a shell.
func Quoted(args []string) string {
	return quote.Shell(append([]string{"gauntlet"}, args...)...)
}
