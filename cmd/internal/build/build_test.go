package build

import (
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	settings := func(words ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{Main: debug.Module{Version: "v0.1.1-0.20261124151401-1bb40af01234"}}
		for i := 0; i < len(words); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: words[i], Value: words[i+1]})
		}
		return info
	}
	version := func(v string) *debug.BuildInfo { return &debug.BuildInfo{Main: debug.Module{Version: v}} }
	const clone = "$Format:%H %cI$\n"
	for _, c := range []struct {
		info    *debug.BuildInfo
		archive string
		want    source
	}{
		{settings("vcs.revision", "abc", "vcs.time", "2026-11-24T15:14:01Z", "vcs.modified", "false"), clone,
			source{"abc", "2026-11-24T15:14:01Z"}},
		{settings("vcs.revision", "abc", "vcs.time", "2026-11-24T15:14:01Z", "vcs.modified", "true"), clone,
			source{"abc+changes", "2026-11-24T15:14:01Z"}},
		{settings(), "0123abc 2026-11-24T16:14:01+01:00\n", source{"0123abc", "2026-11-24T15:14:01Z"}},
		{settings(), clone, source{"1bb40af01234", "2026-11-24T15:14:01Z"}},
		{version("v0.0.0-20261124151401-1bb40af01234+dirty"), clone, source{"1bb40af01234", "2026-11-24T15:14:01Z"}},
		{version("v0.2.0"), clone, source{}},
		{version("v0.2.0-rc.1"), clone, source{}},
		{version("(devel)"), "", source{}},
		{&debug.BuildInfo{}, "x y\n", source{commit: "x"}},
	} {
		if got := find(c.info, c.archive); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v, %q: %+v, want %+v", c.info, c.archive, got, c.want)
		}
	}
}

// ReleaseFlag names the variable of this package. The version of a build from a commit ends with the time of that
// commit.
func TestVersion(t *testing.T) {
	if !strings.HasSuffix(ReleaseFlag, reflect.TypeFor[source]().PkgPath()+".release=") {
		t.Error(ReleaseFlag)
	}
	was := from
	defer func() { from = was }()
	for at, want := range map[string]string{"": release, "2026-11-24T15:14:01Z": release + "+20261124T151401Z"} {
		if from = (source{time: at}); Version() != want {
			t.Errorf("%s, want %s", Version(), want)
		}
	}
}
