package night

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/units"
	"github.com/rdma-gauntlet/gauntlet/perf/history/store"
)

// searched goes through two nights of a plan in a repository, of its first and its last commit, and returns what the
// second says, and its page of changes. The run folders of the first are gone, or with kept there never are any.
func searched(t *testing.T, dir, build string, commits, speeds []string, kept bool) (*Session, string) {
	t.Helper()
	plan := filepath.Join(dir, "n.plan")
	must(t, os.WriteFile(plan, []byte("night 1\nhost h\nsite public\n"+build+"\nmatrix --bench sim\n"), 0o644))
	var last *Session
	for i, at := range []int{0, len(commits) - 1} {
		t.Setenv(speed, speeds[at])
		p, err := ReadPlan(plan)
		must(t, err)
		day := fmt.Sprintf("2026-11-2%d", i)
		o := Options{Plan: p, Path: plan, Folder: filepath.Join(dir, "out", day), Night: day, Commit: commits[at]}
		if kept {
			o.Units = []string{filepath.Join(dir, "units"+day)}
			o.Kept, err = units.OpenFolder(o.Units...)
			must(t, err)
		}
		must(t, os.RemoveAll(filepath.Join(dir, "out")))
		last, err = New(t.Context(), o)
		must(t, err)
		must(t, last.Open())
		_, err = last.Run(t.Context(), func(float64, string) {})
		must(t, err)
		must(t, last.Site(t.Context()))
	}
	names, err := filepath.Glob(filepath.Join(dir, "public", "change-*"))
	must(t, err)
	page := ""
	for _, name := range names {
		text, err := os.ReadFile(name)
		must(t, err)
		page += string(text)
	}
	return last, page
}

// A night with a line build finds the commits of what changed exactly: what one commit changed is one entry, and its
// page has the log of the search, and what was before beside what is now, also where no run of the night before is
// kept.
func TestSearch(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts programs")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for want, c := range map[string]struct {
		speeds []string
		kept   bool
		logs   int
	}{
		"exact 101 202": {[]string{"exact 100 200", "exact 100 200", "exact 101 202", "exact 101 202"}, false, 1},
		"exact 101 200,exact 101 202": {[]string{"exact 100 200", "exact 100 200", "exact 101 200", "exact 101 200",
			"exact 101 202"}, true, 2},
	} {
		dir, commits := repository(t, c.speeds...)
		s, page := searched(t, dir, "build cp program $GAUNTLET_PROGRAM", commits, c.speeds, c.kept)
		found := map[string]bool{}
		for _, e := range s.out.Changes.Entries {
			for i, commit := range commits {
				found[c.speeds[i]] = found[c.speeds[i]] || commit == e.Commit && e.Title == c.speeds[i]
			}
		}
		for title := range strings.SplitSeq(want, ",") {
			if !found[title] || !strings.Contains(page, title+"</p>") {
				t.Errorf("%s: no entry of it or no page: %+v, %.2000s", title, s.out.Changes.Entries, page)
			}
		}
		if len(s.out.Changes.Entries) != c.logs || len(s.out.Notes) != 0 ||
			strings.Count(page, "<h2>Bisection") != c.logs ||
			strings.Count(page, ", side by side</h2>") != 2 {
			t.Errorf("%s: %+v, %q, %d logs and %d pairs of runs", want, s.out.Changes.Entries, s.out.Notes,
				strings.Count(page, "<h2>Bisection"), strings.Count(page, ", side by side</h2>"))
		}
		again := "gauntlet bisect " + commits[0] + " " + commits[len(commits)-1] + " --store " +
			filepath.Join(dir, "nights") + " --build &#39;cp program $GAUNTLET_PROGRAM&#39; --series"
		if strings.Count(page, again) != c.logs || !strings.Contains(page, "-- matrix --bench sim --impl gbn --links ") {
			t.Errorf("%s: no %q in %.3000s", want, again, page)
		}
		held, err := store.Read(filepath.Join(dir, "nights"))
		must(t, err)
		n, err := Stored(t.Context(), held, filepath.Join(dir, "nights"), "")
		if must(t, err); len(n.Changes.Entries) != c.logs || n.Changes.Entries[0].Commit == "" {
			t.Errorf("%s: from the store: %+v", want, n.Changes.Entries)
		}
	}
}

// The flags that choose runs take the place of those of the plan.
func TestOnly(t *testing.T) {
	for args, want := range map[string]string{
		"matrix --impl gbn,irn --seeds 3 --links=clean,random": "matrix --seeds 3 --impl gbn --links random",
		"matrix": "matrix --impl gbn --links random",
	} {
		s := &Step{Args: strings.Fields(args)}
		if got := only(s, []string{"matrix gbn random packets"}); strings.Join(got, " ") != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A search that cannot be made is a note, which has the command where the plan has no line build.
func TestSearchThatCannotBe(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts programs")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	speeds := []string{"exact 100 200", "exact 101 200"}
	for build, want := range map[string]string{
		"":            "--build COMMAND --repo",
		"build false": "exit status 1",
	} {
		dir, commits := repository(t, speeds...)
		s, page := searched(t, dir, build, commits, speeds, false)
		if len(s.out.Changes.Entries) != 1 || s.out.Changes.Entries[0].Commit != "" || len(s.out.Notes) != 1 ||
			!strings.Contains(s.out.Notes[0], want) {
			t.Errorf("%q: %+v, %q", build, s.out.Changes.Entries, s.out.Notes)
		}
		if want := "gauntlet bisect " + commits[0] + " " + commits[1]; !strings.Contains(page, want) {
			t.Errorf("%q: no %q in %.3000s", build, want, page)
		}
	}
}

// Programs with changes that no commit has are one note, and neither it nor the page has a command that cannot work.
func TestSearchWithChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts programs")
	}
	speeds := []string{"exact 100 200", "exact 101 200"}
	dir, commits := repository(t, speeds...)
	for i := range commits {
		commits[i] += "+changes"
	}
	s, page := searched(t, dir, "", commits, speeds, false)
	notes := strings.Join(s.out.Notes, "\n")
	if len(s.out.Notes) != 1 || !strings.Contains(notes, "a commit without changes") ||
		strings.Contains(page+notes, "gauntlet bisect") || strings.Contains(page, "git log") {
		t.Errorf("%q in %.3000s", s.out.Notes, page)
	}
}
