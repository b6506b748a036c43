// Package build reports the source and the command line of the running program, for reports and for the labels of
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

// ReleaseFlag is the linker flag that sets release; the version follows it: go build -ldflags "-X
// github.com/…/build.release=1.2.3".
const ReleaseFlag = "github.com/rdma-gauntlet/gauntlet/cmd/internal/build.release="

// archive is the commit of an archive, such as GitHub makes of a tag, and when it was committed: git puts them into
// this file (export-subst in .gitattributes). In a clone it holds what git is to put there.
//
//go:embed archive.txt
var archive string

// source identifies the source of the program.
type source struct {
	commit string // with "+changes" if the working tree had uncommitted changes; "" when unknown
	time   string // of the commit, RFC 3339 in UTC; "" when unknown
}

// from is the source of this program.
var from = func() source {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return find(info, archive)
}()

// find returns the source recorded by the build, else by git in an archive, else in the version of the module, as after
// go install MODULE@VERSION.
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

// pseudo parses a pseudo-version such as v0.1.1-0.20261124151401-1bb40af01234, which Go derives from a commit without a
// tag. The version of a tag does not state the commit.
func pseudo(version string) source {
	version, _, _ = strings.Cut(version, "+")
	parts := strings.Split(version, "-")
	if len(parts) < 3 || len(parts[len(parts)-1]) != 12 {
		return source{}
	}
	stamp := parts[len(parts)-2]
	return source{commit: parts[len(parts)-1], time: utc("20060102150405", stamp[strings.LastIndex(stamp, ".")+1:])}
}

// utc parses a time and formats it as RFC 3339 in UTC; "" if it cannot be parsed.
func utc(layout, text string) string {
	t, err := time.Parse(layout, text)
	if err != nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Version returns the version of the tool, such as "0.1.0". If the time of its commit is known, it is appended as build
// metadata of SemVer, "0.1.0+20261124T151401Z", so that every result and every page states it.
func Version() string {
	if from.time == "" || strings.Contains(release, "+") {
		return release
	}
	return release + "+" + strings.NewReplacer("-", "", ":", "").Replace(from.time)
}

// Commit returns the commit that the program was built from, "" if it is unknown.
func Commit() string { return from.commit }

// Time returns the time of that commit, RFC 3339, "" if it is unknown.
func Time() string { return from.time }

// CommandLine returns the command line of this process, quoted for a shell.
func CommandLine() string { return Quoted(os.Args[1:]) }

// Quoted returns a command line of this program, quoted for a shell.
func Quoted(args []string) string {
	return quote.Shell(append([]string{"gauntlet"}, args...)...)
}
