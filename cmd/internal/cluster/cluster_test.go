package cluster

import (
	"bytes"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

// hostile returns a plan whose command has every character that a shell or YAML treats specially.
func hostile(shards int) Plan {
	return Plan{Shards: shards, Command: []string{"atlas", "--impl=gbn,irn", "it's", `$(id) "x" \ ; # : {a} *`, ""},
		Program: "/opt/a b/gauntlet",
		Image:   "registry.example/gauntlet:1", Claim: "results"}
}

func written(t *testing.T, name string, p Plan) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, name, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// jobs decodes the manifests strictly: an unknown or repeated field is an error.
func jobs(t *testing.T, p Plan) (shards, merge batchv1.Job) {
	t.Helper()
	parts := strings.Split(written(t, "k8s", p), "\n---\n")
	if len(parts) != 2 {
		t.Fatalf("%d documents", len(parts))
	}
	for i, into := range []*batchv1.Job{&shards, &merge} {
		if err := yaml.UnmarshalStrict([]byte(parts[i]), into); err != nil {
			t.Fatal(err)
		}
		if into.APIVersion != "batch/v1" || into.Kind != "Job" || into.Spec.Template.Spec.RestartPolicy !=
			corev1.RestartPolicyNever {
			t.Errorf("%s %s, %s", into.APIVersion, into.Kind, into.Spec.Template.Spec.RestartPolicy)
		}
	}
	return shards, merge
}

func TestKubernetes(t *testing.T) {
	p := hostile(8)
	shards, merge := jobs(t, p)
	s, pod := shards.Spec, shards.Spec.Template.Spec
	if *s.CompletionMode != batchv1.IndexedCompletion || *s.Completions != 8 || *s.Parallelism != 8 ||
		*s.BackoffLimitPerIndex != Tries-1 || s.BackoffLimit != nil {
		t.Errorf("%+v", s)
	}
	rules := s.PodFailurePolicy.Rules
	if len(rules) != 2 || rules[0].Action != batchv1.PodFailurePolicyActionFailIndex || rules[0].OnExitCodes.Operator !=
		batchv1.PodFailurePolicyOnExitCodesOpIn ||
		rules[1].Action != batchv1.PodFailurePolicyActionIgnore || rules[1].OnPodConditions[0].Type !=
		corev1.DisruptionTarget {
		t.Errorf("%+v", rules)
	}
	c := pod.Containers[0]
	if *rules[0].OnExitCodes.ContainerName != c.Name || strings.Join(c.Args, "|") != strings.Join(p.Divided(), "|") ||
		c.Image != p.Image {
		t.Errorf("%+v", c)
	}
	if c.Env[0].Name != "GAUNTLET_SHARD_TOTAL" || c.Env[0].Value != "8" ||
		pod.Volumes[0].PersistentVolumeClaim.ClaimName != "results" {
		t.Errorf("%+v", pod)
	}
	if !*merge.Spec.Suspend || merge.Spec.Template.Spec.Containers[0].Args[0] != "merge" {
		t.Errorf("%+v", merge.Spec)
	}
}

// The strict decoder finds a misspelt field.
func TestStrictness(t *testing.T) {
	text := strings.Replace(written(t, "k8s", hostile(2)), "backoffLimitPerIndex", "backofLimitPerIndex", 1)
	if err := yaml.UnmarshalStrict([]byte(strings.Split(text, "\n---\n")[0]), &batchv1.Job{}); err == nil ||
		!strings.Contains(err.Error(), "backofLimitPerIndex") {
		t.Errorf("%v", err)
	}
}

// actionlint, which knows the syntax and expressions of GitHub, finds no fault in the workflow.
func TestGitHub(t *testing.T) {
	for _, n := range []int{1, 255} {
		text := written(t, "github", hostile(n))
		l, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		found, err := l.Lint("plan.yml", []byte(text), nil)
		if err != nil || len(found) > 0 {
			t.Errorf("%v, %v", found, err)
		}
		var w struct {
			Jobs map[string]struct {
				Strategy struct{ Matrix struct{ Shard []int } }
				Steps    []struct{ Run string }
			}
		}
		if err := yaml.Unmarshal([]byte(text), &w); err != nil || len(w.Jobs["shards"].Strategy.Matrix.Shard) != n {
			t.Errorf("%v, %+v", err, w)
		}
		for _, job := range w.Jobs {
			for _, s := range job.Steps {
				parses(t, s.Run)
			}
		}
	}
}

// A shell parses the script for Slurm and the scripts of its tasks, in which the words of the command arrive unchanged.
func TestSlurm(t *testing.T) {
	text := written(t, "slurm", hostile(8))
	parses(t, text)
	tasks := regexp.MustCompile(`(?s)<<'TASK'\n(.*?)\nTASK\n`).FindAllStringSubmatch(text, -1)
	if len(tasks) != 2 || !strings.Contains(text, "--array=0-7") || !strings.Contains(text, "--dependency=afterany:") {
		t.Fatalf("%d tasks in\n%s", len(tasks), text)
	}
	for _, task := range tasks {
		parses(t, task[1])
	}
}

func parses(t *testing.T, script string) {
	t.Helper()
	c := exec.Command("sh", "-n")
	c.Stdin = strings.NewReader(script)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s\n%s", err, out, script)
	}
}

// Words reach a program through a shell unchanged.
func TestShell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[ -~]{0,12}`), 1, 4).Draw(t, "words")
		out, err := exec.Command("sh", "-c", `printf '%s\n' `+shell(words)).Output()
		if err != nil || string(out) != strings.Join(words, "\n")+"\n" {
			t.Fatalf("%q: %q, %v", words, out, err)
		}
	})
}

func TestRejects(t *testing.T) {
	for want, c := range map[string]struct {
		name string
		plan Plan
	}{
		"want 1 to 255 shards":      {"github", hostile(256)},
		"want 1 to 1000 shards":     {"slurm", hostile(1001)},
		"--k8s 0: want 1":           {"k8s", hostile(0)},
		"engine \"pbs\": want one":  {"pbs", hostile(1)},
		"add the command":           {"k8s", Plan{Shards: 1}},
		"want words of one line":    {"slurm", Plan{Shards: 1, Command: []string{"atlas", "a\nb"}}},
		"no expressions of the eng": {"github", Plan{Shards: 1, Command: []string{"atlas", "${{ secrets.X }}"}}},
	} {
		if err := Write(io.Discard, c.name, c.plan); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", c.name, err, want)
		}
	}
}
