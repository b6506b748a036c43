package gate

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// runner runs the shell steps of the action like GitHub's runner: it gives each step the documented environment, and
// reads the files that the step writes.
type runner struct {
	t       *testing.T
	inputs  map[string]string
	dir     string // the checked-out repository
	event   map[string]string
	outputs map[string]string // by step and name
	log     strings.Builder
	summary string
	failed  string // ID of the failed step
}

func newRunner(t *testing.T, dir string, inputs map[string]string) *runner {
	r := &runner{
		t:       t,
		dir:     dir,
		inputs:  map[string]string{},
		outputs: map[string]string{},
		event: map[string]string{"github.event_name": "pull_request", "github.ref_name": "1/merge",
			"github.event.repository.default_branch": "main", "runner.temp": filepath.Join(dir, ".temp")},
	}
	for name, in := range theAction(t).Inputs {
		r.inputs[name] = in.Default
	}
	maps.Copy(r.inputs, inputs)
	must(t, os.MkdirAll(r.event["runner.temp"], 0o755))
	return r
}

var expression = regexp.MustCompile(`\$\{\{ (.*?) \}\}`)

// value replaces the expressions in a text by their values.
func (r *runner) value(text string) string {
	return expression.ReplaceAllStringFunc(text, func(x string) string {
		name := expression.FindStringSubmatch(x)[1]
		if in, ok := strings.CutPrefix(name, "inputs."); ok {
			return r.inputs[in]
		}
		if out, ok := strings.CutPrefix(name, "steps."); ok {
			return r.outputs[strings.Replace(out, ".outputs", "", 1)]
		}
		if v, ok := r.event[name]; ok {
			return v
		}
		r.t.Fatalf("expression %q", name)
		return ""
	})
}

// wanted evaluates a condition of the action: comparisons joined by &&.
func (r *runner) wanted(condition string) bool {
	if condition == "" {
		return true
	}
	for part := range strings.SplitSeq(expression.FindStringSubmatch(condition)[1], " && ") {
		words := regexp.MustCompile(`^(\S+) ([!=]=) (\S+)$`).FindStringSubmatch(part)
		right := strings.Trim(words[3], "'")
		if right == words[3] {
			right = r.value("${{ " + right + " }}")
		}
		if (r.value("${{ "+words[1]+" }}") == right) != (words[2] == "==") {
			return false
		}
	}
	return true
}

// run runs the shell steps until one fails.
func (r *runner) run() *runner {
	for _, s := range theAction(r.t).Runs.Steps {
		if s.Run == "" || !r.wanted(s.If) {
			continue
		}
		if err := r.step(&s); err != nil {
			r.failed = s.ID
			break
		}
	}
	return r
}

func (r *runner) step(s *step) error {
	temp := r.event["runner.temp"]
	files := map[string]string{
		"GITHUB_OUTPUT":       filepath.Join(temp, "output"),
		"GITHUB_STEP_SUMMARY": filepath.Join(temp, "summary"),
	}
	script := filepath.Join(temp, "script.sh")
	must(r.t, os.WriteFile(script, []byte(s.Run), 0o644))
	path, err := filepath.Abs(root + "/.github/actions/gate")
	must(r.t, err)
	c := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", script) // as documented for bash
	c.Dir = r.dir
	cache, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	must(r.t, err)
	caches := strings.Fields(string(cache))
	c.Env = append(
		os.Environ(),
		"CI=true",
		"GITHUB_ACTIONS=true",
		"RUNNER_OS=Linux",
		"RUNNER_TEMP="+temp,
		"GITHUB_WORKSPACE="+r.dir,
		"GITHUB_ACTION_PATH="+path,
		"HOME="+filepath.Join(temp, "home"),
		"GOCACHE="+caches[0],
		"GOMODCACHE="+caches[1],
	)
	for name, file := range files {
		must(r.t, os.WriteFile(file, nil, 0o644))
		c.Env = append(c.Env, name+"="+file)
	}
	for name, v := range s.Env {
		c.Env = append(c.Env, name+"="+r.value(v))
	}
	out, err := c.CombinedOutput()
	r.log.Write(out)
	text, _ := os.ReadFile(files["GITHUB_OUTPUT"])
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		r.outputs[s.ID+"."+name] = value
	}
	summary, _ := os.ReadFile(files["GITHUB_STEP_SUMMARY"])
	r.summary += string(summary)
	return err
}
