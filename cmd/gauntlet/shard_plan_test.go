package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

// controller plays the controller of an Indexed Job: it starts a pod for each index, reads its exit code by the job's
// failure policy, and starts it again as often as the job says.
type controller struct {
	job  batchv1.Job
	dir  string // the volume
	pods func(index, try int) (args []string, env []string)

	tries  map[int]int
	failed []int // indexes
}

// run plays until every index has succeeded or failed.
func (k *controller) run(t *testing.T) {
	t.Helper()
	k.tries = map[int]int{}
	for index := range int(*k.job.Spec.Completions) {
		for {
			k.tries[index]++
			code := k.pod(t, index)
			if code == 0 {
				break
			}
			if k.failsIndex(int32(code)) || k.tries[index] > int(*k.job.Spec.BackoffLimitPerIndex) {
				k.failed = append(k.failed, index)
				break
			}
		}
	}
}

// failsIndex is what the policy says of an exit code.
func (k *controller) failsIndex(code int32) bool {
	for _, r := range k.job.Spec.PodFailurePolicy.Rules {
		if r.Action == batchv1.PodFailurePolicyActionFailIndex && r.OnExitCodes != nil &&
			slices.Contains(r.OnExitCodes.Values, code) {
			return true
		}
	}
	return false
}

// pod runs the container of an index to its end, with the volume where it is mounted.
func (k *controller) pod(t *testing.T, index int) int {
	t.Helper()
	c := k.job.Spec.Template.Spec.Containers[0]
	args := slices.Clone(c.Args)
	env := []string{fmt.Sprintf("JOB_COMPLETION_INDEX=%d", index)}
	for _, v := range c.Env {
		env = append(env, v.Name+"="+v.Value)
	}
	if k.pods != nil {
		more, vars := k.pods(index, k.tries[index])
		args, env = append(args, more...), append(env, vars...)
	}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], c.VolumeMounts[0].MountPath, k.dir)
	}
	p := command(t, k.dir, args...)
	p.Env = append(p.Environ(), env...)
	return finish(t, p).code
}

// planned is the job that shard plan prints for a small atlas, and the one that merges.
func planned(t *testing.T, shards int, args ...string) (job, merge batchv1.Job) {
	t.Helper()
	o := gauntlet(t, t.TempDir(), append([]string{"shard", "plan", "--k8s", fmt.Sprint(shards)}, args...)...)
	parts := strings.Split(o.stdout, "\n---\n")
	if o.code != 0 || len(parts) != 2 {
		t.Fatalf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	must(t, yaml.UnmarshalStrict([]byte(parts[0]), &job))
	must(t, yaml.UnmarshalStrict([]byte(parts[1]), &merge))
	return job, merge
}

// A controller that keeps the protocol of Indexed Jobs ends with the bytes of one machine, although the volume failed a
// pod at first.
func TestKubernetesIndexes(t *testing.T) {
	args := sharded["atlas"].args
	job, merge := planned(t, 4, args...)
	k := controller{job: job, dir: t.TempDir()}
	blocked := filepath.Join(k.dir, "units", "batch.json")
	k.pods = func(index, try int) ([]string, []string) {
		switch {
		case index == 2 && try == 1:
			must(t, os.Rename(blocked, blocked+".kept"))
			must(t, os.Mkdir(blocked, 0o755))
		case index == 2 && try == 2:
			must(t, os.Remove(blocked))
			must(t, os.Rename(blocked+".kept", blocked))
		}
		return nil, nil
	}
	k.run(t)
	if len(k.failed) > 0 || k.tries[2] != 2 || k.tries[0] != 1 {
		t.Fatalf("failed %v, tries %v", k.failed, k.tries)
	}
	m := merge.Spec.Template.Spec.Containers[0]
	for i := range m.Args {
		m.Args[i] = strings.ReplaceAll(m.Args[i], m.VolumeMounts[0].MountPath, k.dir)
	}
	got := gauntlet(t, k.dir, append(m.Args, "--", "--json", "--quiet")...)
	want := gauntlet(t, t.TempDir(), append(args, "--units", "u", "--json")...)
	if got.code != 0 || got.stdout != want.stdout {
		t.Errorf("exit %d, %s\n%d bytes, want %d", got.code, got.stderr, len(got.stdout), len(want.stdout))
	}
}

// What would end the same way another time is not tried again.
func TestKubernetesFailsAnIndex(t *testing.T) {
	job, _ := planned(t, 2, sharded["atlas"].args...)
	k := controller{job: job, dir: t.TempDir()}
	k.pods = func(index, _ int) ([]string, []string) { return []string{"--margin", "7"}, nil }
	k.run(t)
	if !slices.Equal(k.failed, []int{0, 1}) || k.tries[0] != 1 || k.tries[1] != 1 {
		t.Errorf("failed %v, tries %v", k.failed, k.tries)
	}
}

func TestShardPlanRejects(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.plan")
	if err := os.WriteFile(bad, []byte("night 1\nfrobnicate\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"say which engine":                {"atlas"},
		"requires at least 1 arg":         {"--slurm", "4"},
		"doctor cannot be divided":        {"--slurm", "4", "doctor"},
		"unknown command \"atals\"":       {"--slurm", "4", "atals"},
		"atlas: unknown flag: --nonsense": {"--k8s", "4", "atlas", "--nonsense"},
		"leave --units out":               {"--k8s", "4", "atlas", "--units", "u"},
		"want 1 to 255 shards":            {"--github", "256", "perf"},
		"none of the others can be":       {"--github", "2", "--slurm", "2", "perf"},
		"bad.plan:2: frobnicate: unknown": {"--slurm", "2", "night", bad},
	} {
		o := inProcess(t, t.TempDir(), append([]string{"shard", "plan"}, args...)...)
		if o.code != exitUsage || !strings.Contains(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %q, want %q", args, o.code, o.stderr, want)
		}
	}
}
