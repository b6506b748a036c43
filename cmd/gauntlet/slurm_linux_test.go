//go:build slurm

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A job array of Slurm gives the bytes of one machine, although a task lost its machine, a task ended with exit code 3
// and was tried again, and a task failed. The merge names the failed task, and the same script runs it again.
func TestSlurm(t *testing.T) {
	for _, tool := range []string{"slurmctld", "slurmd", "munged", "unshare"} {
		if _, err := exec.LookPath(tool); err != nil || os.Getuid() != 0 {
			t.Skipf("needs root and %s (apt-get install slurm-wlm munge)", tool)
		}
	}
	dir, err := os.MkdirTemp("", "slurm") // a short path, because paths of sockets are limited
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	must(t, err)
	scripts, err := filepath.Abs("testdata/slurm")
	must(t, err)
	args := sharded["atlas"].args
	plan := gauntlet(t, dir,
		append([]string{"shard", "plan", "--slurm", "8", "--program", scripts + "/program.sh"}, args...)...)
	must(t, os.WriteFile(filepath.Join(dir, "plan.sh"), []byte(plan.stdout), 0o644))

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork",
		"--mount-proc", "--kill-child",
		"sh", scripts+"/cluster.sh", dir, "sh", scripts+"/batch.sh", dir)
	c.Env = append(os.Environ(), "DIR="+dir, "SELF="+self)
	c.WaitDelay = 10 * time.Second
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s%s", err, out, logs(dir))
	}
	jobs := written(t, dir, "jobs1")
	for task, want := range map[string]string{"2": `Restarts=[1-9].* ExitCode=0:0`, "4": `Restarts=1 .*ExitCode=0:0`,
		"5": `Restarts=0 .*ExitCode=2:0`} {
		if !regexp.MustCompile(`(?m)^.*ArrayTaskId=` + task + ` .*` + want).MatchString(jobs) {
			t.Errorf("task %s: no %s in\n%s", task, want, jobs)
		}
	}
	if first := written(t, dir, "merge1.log"); !strings.Contains(first, "of 12 units have no result: ") {
		t.Errorf("the first merge: %s", first)
	}
	if second := written(t, dir, "merge2.log"); !strings.Contains(second, "12 units") ||
		strings.Contains(second, "no result") {
		t.Errorf("the second merge: %s", second)
	}
	got := gauntlet(t, dir, "merge", "results/units", "--", "--json", "--quiet")
	want := gauntlet(t, dir, append(args, "--units", "one", "--json")...)
	if got.code != 0 || got.stdout != want.stdout {
		t.Errorf("exit %d, %s\n%d bytes, want %d\n%s", got.code, got.stderr, len(got.stdout),
			len(want.stdout), logs(dir))
	}
}

func written(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	must(t, err)
	return string(text)
}

// logs returns the output of the tasks of the array and of slurmctld.
func logs(dir string) string {
	files, _ := filepath.Glob(filepath.Join(dir, "results/logs/*"))
	var b strings.Builder
	for _, path := range append(files, filepath.Join(dir, "slurmctld.log")) {
		text, _ := os.ReadFile(path)
		b.WriteString(path + ":\n" + string(text) + "\n")
	}
	return b.String()
}
