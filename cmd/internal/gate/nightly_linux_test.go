package gate

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// job has the fields of a job that the tests use.
type job struct {
	Permissions map[string]string
	Steps       []step
}

// workflow has the fields of the nightly workflow that the tests use.
type workflow struct {
	Permissions string
	Jobs        map[string]job
}

func nightlyWorkflow(t *testing.T) (w workflow) {
	t.Helper()
	readYAML(t, ".github/workflows/nightly.yml", &w)
	return w
}

// Only one job of the night may write to the repository and another to the pages, and every action is pinned.
func TestNightlyMayDoLittle(t *testing.T) {
	writers, w := map[string]string{}, nightlyWorkflow(t)
	if w.Permissions != "read-all" {
		t.Errorf("a job that says nothing has the permissions %q", w.Permissions)
	}
	for name, j := range w.Jobs {
		for what, how := range j.Permissions {
			if how == "write" {
				writers[what] += name
			}
		}
		careful(t, name, j.Steps)
	}
	if got := fmt.Sprint(writers); got != "map[contents:night id-token:night-pages pages:night-pages]" {
		t.Error(got)
	}
}

// nightly runs the shell steps of a job in a folder, and returns the runner; a step that fails ends the test.
func nightly(t *testing.T, name, dir, temp string, event map[string]string) *runner {
	t.Helper()
	r := newRunner(t, t.TempDir(), nil)
	r.dir, r.event["runner.temp"] = dir, temp
	for k, v := range event {
		r.event[k] = v
	}
	must(t, os.MkdirAll(temp, 0o755))
	for _, s := range nightlyWorkflow(t).Jobs[name].Steps {
		if s.Run == "" {
			continue
		}
		if err := r.step(&s); err != nil {
			t.Fatalf("%s: %s: %v\n%s", name, s.ID, err, r.log.String())
		}
	}
	return r
}

// Two nights run by the steps of the workflow, in two shards, with a local folder as the remote repository. The first
// creates the branch of the store, and the second finds its data.
func TestNightlySteps(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program and runs it: not with -short")
	}
	server := t.TempDir()
	git := func(dir string, args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	git(server, "init", "-q", "--bare", "owner/name")
	t.Setenv("GITHUB_SERVER_URL", "file://"+server)
	t.Setenv("GITHUB_REPOSITORY", "owner/name")
	source, err := filepath.Abs(root)
	must(t, err)
	built := filepath.Join(t.TempDir(), "temp")
	build := nightly(t, "night-build", source, built, nil)
	if day := build.outputs["day.day"]; !regexp.MustCompile(`^\d{4}-\d\d-\d\d$`).MatchString(day) {
		t.Errorf("day %q", day)
	}
	plan := "night 1\nhost github\nstore nights\nsite public\n" +
		"matrix --impl gbn --links clean,random --with 'load write msg=4KiB count=5'\n"
	for i, day := range []string{"2026-11-23", "2026-11-24"} {
		dir, temp := t.TempDir(), filepath.Join(t.TempDir(), "temp")
		must(t, os.WriteFile(filepath.Join(dir, "nightly.plan"), []byte(plan), 0o644))
		git(dir, "init", "-q")
		must(t, os.CopyFS(filepath.Join(temp, "program"), os.DirFS(filepath.Join(built, "program"))))
		event := map[string]string{
			"needs.night-build.outputs.day": day,
			"strategy.job-total":            "2",
			"github.token":                  "secret",
		}
		for k := range 2 {
			event["strategy.job-index"] = fmt.Sprint(k)
			nightly(t, "night-shard", dir, temp, event)
			must(t, os.MkdirAll(filepath.Join(temp, "shards"), 0o755))
			must(
				t,
				os.Rename(
					filepath.Join(temp, "units"),
					filepath.Join(temp, "shards", fmt.Sprintf("night-shard-%d", k)),
				),
			)
		}
		r := nightly(t, "night", dir, temp, event)
		if want := fmt.Sprintf(
			"%d series compared",
			i*24,
		); r.outputs["merge.code"] != "0" ||
			!strings.Contains(r.summary, want) {
			t.Errorf("%s: %v\n%s, want %s\n%s", day, r.outputs, r.summary, want, r.log.String())
		}
		if n := strings.Count(
			git(filepath.Join(server, "owner/name"), "ls-tree", "-r", "--name-only", "nights"),
			".ndjson",
		); n != i+1 {
			t.Errorf("%s: %d nights in the branch", day, n)
		}
		if strings.Contains(r.log.String(), "secret") {
			t.Error("the log has the token")
		}
		nightly(t, "night-verdict", dir, temp, map[string]string{"needs.night.outputs.code": r.outputs["merge.code"]})
	}
}
