package gate

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"go.yaml.in/yaml/v3"
)

const root = "../../.."

// action has the fields of a composite action that the tests use.
type action struct {
	Inputs  map[string]struct{ Description, Default string }
	Outputs map[string]struct{ Description, Value string }
	Runs    struct{ Steps []step }
}

type step struct {
	ID   string            `yaml:"id,omitempty"`
	If   string            `yaml:"if,omitempty"`
	Uses string            `yaml:"uses,omitempty"`
	Run  string            `yaml:"run,omitempty"`
	Sh   string            `yaml:"shell,omitempty"`
	Env  map[string]string `yaml:"env,omitempty"`
	With map[string]string `yaml:"with,omitempty"`
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	must(t, err)
	must(t, yaml.Unmarshal(text, into))
}

func theAction(t *testing.T) (a action) {
	t.Helper()
	readYAML(t, ".github/actions/gate/action.yml", &a)
	return a
}

// lint returns the findings of actionlint in a workflow.
func lint(t *testing.T, name, text string) (all []string) {
	t.Helper()
	l, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	must(t, err)
	project, err := actionlint.NewProject(root)
	must(t, err)
	found, err := l.Lint(name, []byte(text), project)
	must(t, err)
	for _, e := range found {
		all = append(all, fmt.Sprintf("%s:%d: %s", name, e.Line, e.Message))
	}
	return all
}

// actionlint finds no fault in the workflows of this repository and of the examples. The examples use the action of
// this tree, so its inputs and outputs are checked too.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(root + "/.github/workflows/*.yml")
	must(t, err)
	examples, err := filepath.Glob(root + "/.github/examples/*/.github/workflows/*.yml")
	must(t, err)
	if len(files) < 2 || len(examples) != 3 {
		t.Fatalf("%d workflows, %d of examples", len(files), len(examples))
	}
	for _, path := range append(files, examples...) {
		text, err := os.ReadFile(path)
		must(t, err)
		for _, complaint := range lint(t, path,
			regexp.MustCompile(`rdma-gauntlet/gauntlet/(\S+)@v\S+`).ReplaceAllString(string(text), "./$1")) {
			t.Error(complaint)
		}
	}
}

// The steps of the action are linted as steps of a workflow that has the inputs of the action.
func TestActionIsLinted(t *testing.T) {
	a := theAction(t)
	var b strings.Builder
	b.WriteString("on:\n  workflow_dispatch:\n    inputs:\n")
	for _, name := range slices.Sorted(maps.Keys(a.Inputs)) {
		if a.Inputs[name].Description == "" {
			t.Errorf("input %s has no description", name)
		}
		fmt.Fprintf(&b, "      %s: {type: string}\n", name)
	}
	b.WriteString("jobs:\n  gate:\n    runs-on: ubuntu-24.04\n    outputs:\n")
	for _, name := range slices.Sorted(maps.Keys(a.Outputs)) {
		if a.Outputs[name].Description == "" {
			t.Errorf("output %s has no description", name)
		}
		fmt.Fprintf(&b, "      %s: %q\n", name, a.Outputs[name].Value)
	}
	steps, err := yaml.Marshal(map[string]any{"steps": a.Runs.Steps})
	must(t, err)
	b.WriteString("    " + strings.ReplaceAll(string(steps), "\n", "\n    ") + "\n")
	for _, complaint := range lint(t, "action.yml", b.String()) {
		t.Error(complaint)
	}
	for _, bad := range [][2]string{{"inputs.name", "inputs.nome"}, {"steps.gate.outputs", "steps.gates.outputs"},
		{"runner.temp", "runner.tmp"}} {
		if len(lint(t, "action.yml", strings.ReplaceAll(b.String(), bad[0], bad[1]))) == 0 {
			t.Errorf("%s passes", bad[1])
		}
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	must(t, err)
	if v := a.Runs.Steps[0].With["go-version"]; !strings.Contains(string(mod), "\ngo "+v+"\n") {
		t.Errorf("Go %s is not that of go.mod", v)
	}
	careful(t, "action.yml", a.Runs.Steps)
}

// careful reports steps that use an action by a name that can move, or whose script has an expression, which the shell
// would read.
func careful(t *testing.T, where string, steps []step) {
	t.Helper()
	for _, s := range steps {
		if strings.Contains(s.Run, "${{") {
			t.Errorf("%s: step %s: an expression in a script would be read by the shell", where, s.ID)
		}
		if s.Uses != "" && !regexp.MustCompile(`@[0-9a-f]{40}$`).MatchString(s.Uses) {
			t.Errorf("%s: %s: want a commit", where, s.Uses)
		}
	}
}

// repository makes a Git repository with the given files.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	return dir
}

const small = "gate 1\nimpl gbn\nscenarios GBN-NAK-002 && !random\nlinks none\n"

// A pull request shows a gate that passes, one that fails, and one without a verdict; the result of main is the next
// baseline.
func TestActionSteps(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program and runs it: not with -short")
	}
	dir := repository(
		t,
		map[string]string{
			"gauntlet.gate": small,
			"failing.gate":  small + "waivers known.txt\n",
			"known.txt":     "waive GBN-NAK-002 impl=gbn owner=o expires=9999-12-31 : ::error::x\n",
			"none.gate":     "gate 2\n",
		},
	)
	r := newRunner(t, dir, nil)
	r.event["github.event_name"], r.event["github.ref_name"] = "push", "main"
	if r.run(); r.failed != "" || r.outputs["gate.verdict"] != "PASS" || r.outputs["gate.exit-code"] != "0" ||
		!strings.Contains(r.summary, "### PASS: gate of `gbn`") ||
		strings.Contains(r.log.String(), "::error") {
		t.Fatalf("%s %v\n%s\n%s", r.failed, r.outputs, r.summary, r.log.String())
	}
	stops := regexp.MustCompile(`(?m)^::stop-commands::([0-9a-f]{64})\n(?s:.*)^::([0-9a-f]{64})::$`).
		FindStringSubmatch(r.log.String())
	if stops == nil || stops[1] != stops[2] {
		t.Errorf("orders are not stopped:\n%s", r.log.String())
	}
	other := newRunner(t, dir, nil)
	kept := filepath.Join(other.event["runner.temp"], "gauntlet-baseline-gate")
	must(t, os.MkdirAll(kept, 0o755))
	baseline := []byte(`{"format":1,"subject":"irn","stages":[{"name":"x"}]}`)
	must(t, os.WriteFile(filepath.Join(kept, "gate.json"), baseline, 0o644))
	if other.run(); other.failed != "" || !strings.Contains(other.log.String(), `is of "irn"`) ||
		other.outputs["gate.verdict"] != "PASS" {
		t.Errorf("a baseline of another subject: %s %v\n%s", other.failed, other.outputs, other.log.String())
	}
	must(t, os.RemoveAll(kept))
	failing := newRunner(t, dir, map[string]string{"file": "failing.gate", "budget": "2"}).run()
	if failing.failed != "verdict" || failing.outputs["gate.verdict"] != "XPASS" ||
		failing.outputs["gate.broken"] != "1" ||
		!strings.Contains(failing.log.String(), "\n::error title=GBN-NAK-002 XPASS::") ||
		strings.Count(failing.log.String(), "\n::error") != 1 ||
		!strings.Contains(failing.summary, "### XPASS") {
		t.Errorf("%s %v\n%s\n%s", failing.failed, failing.outputs, failing.summary, failing.log.String())
	}
	if _, err := os.Stat(failing.outputs["gate.sarif"]); err != nil ||
		!strings.Contains(failing.log.String(), "XPASS") {
		t.Error(err)
	}
	none := newRunner(t, dir, map[string]string{"file": "none.gate"}).run()
	if none.failed != "verdict" || none.outputs["gate.exit-code"] != "2" || none.outputs["gate.folder"] != "" ||
		!strings.Contains(none.summary, "no verdict, exit code 2") {
		t.Errorf("%s %v\n%s", none.failed, none.outputs, none.summary)
	}
	gitLab(t, r.outputs["key.program"])
}

// gitLab runs the job for GitLab with the documented variables and a program that is already built.
func gitLab(t *testing.T, program string) {
	var jobs map[string]struct {
		Variables map[string]string
		Script    []string
		Artifacts struct{ Reports map[string]string }
	}
	readYAML(t, ".gitlab/gate.yml", &jobs)
	job := jobs[".gauntlet-gate"]
	dir := repository(t, map[string]string{"gauntlet.gate": small})
	// the second has the first as its baseline, and the third another subject
	for i, want := range []string{"report", "--baseline", `is of "gbn"`} {
		if i == 2 {
			text := strings.Replace(small, "impl gbn", "impl gobackone", 1)
			must(t, os.WriteFile(filepath.Join(dir, "gauntlet.gate"), []byte(text), 0o644))
		}
		c := exec.Command("sh", "-e", "-c", strings.Join(job.Script, "\n"))
		c.Dir = dir
		c.Env = append(
			os.Environ(),
			"CI=true",
			"CI_PROJECT_DIR="+dir,
			"CI_COMMIT_BRANCH=main",
			"CI_DEFAULT_BRANCH=main",
			"CI_JOB_NAME=gate",
			"PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"),
		)
		for name, v := range job.Variables {
			if !strings.HasPrefix(name, "GO") {
				c.Env = append(c.Env, name+"="+v)
			}
		}
		out, err := c.CombinedOutput()
		text, readErr := os.ReadFile(filepath.Join(dir, "gauntlet-gate", "gate.json"))
		if err != nil || readErr != nil || !bytes.Contains(slices.Concat(out, text), []byte(want)) {
			t.Fatalf("%v %v, want %s\n%s", err, readErr, want, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, strings.ReplaceAll(job.Artifacts.Reports["junit"], "$GATE_FOLDER",
		"gauntlet-gate"))); err != nil {
		t.Error(err)
	}
}
