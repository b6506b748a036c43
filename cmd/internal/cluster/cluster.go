// Package cluster writes the files with which an engine runs the shards of a command as tasks and merges them: a script
// for Slurm, a manifest for Kubernetes, a workflow for GitHub. It does not talk to engines; the user reviews a file and
// submits it.
//
// All of them treat exit codes alike: 1 and 2 are final for a shard, because another try would end the same way; after
// 3 the shard is tried again, three times in all. A new try continues where the last one stopped, because results are
// stored.
package cluster

import (
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/harness/shard"
)

// Plan is the command to divide.
type Plan struct {
	Shards  int
	Command []string // without the program's name and without the flags that divide it
	Program string   // for Slurm: path of the program on the machines of the tasks
	Image   string   // for Kubernetes: image with the program
	Claim   string   // for Kubernetes: name of the PersistentVolumeClaim to which all pods write results
}

// Tries is the number of times that a shard is started at most.
const Tries = 3

//go:embed templates
var templates embed.FS

// engine holds the template of an engine and its limit.
type engine struct {
	file string
	most int // largest number of shards
}

// engines has the engines by the names of their flags. GitHub rejects a matrix of more than 256 jobs. Slurm's arrays
// end at index 1000 unless MaxArraySize is set.
var engines = map[string]engine{
	"slurm":  {"slurm.sh", 1000},
	"k8s":    {"kubernetes.yaml", shard.Most},
	"github": {"github.yml", 255},
}

// Names returns the names of the engines, in the order of the help.
func Names() []string { return []string{"slurm", "k8s", "github"} }

// Write writes the file of an engine. The error is the user's, or that of w.
func Write(w io.Writer, name string, p Plan) error {
	e, ok := engines[name]
	switch {
	case !ok:
		return fmt.Errorf("engine %q: want one of %s", name, strings.Join(Names(), ", "))
	case p.Shards < 1 || p.Shards > e.most:
		return fmt.Errorf("--%s %d: want 1 to %d shards", name, p.Shards, e.most)
	case len(p.Command) == 0:
		return fmt.Errorf("--%s %d: add the command that is to be divided", name, p.Shards)
	}
	for _, word := range append(slices.Clone(p.Command), p.Program, p.Image, p.Claim) {
		if !quote.Clean(word) || strings.Contains(word, "${{") {
			return fmt.Errorf("--%s %d: %q: want words of one line that are no expressions of the engine",
				name, p.Shards, word)
		}
	}
	t, err := template.New(e.file).Funcs(template.FuncMap{"sh": shell, "yaml": flow}).ParseFS(templates,
		"templates/"+e.file)
	if err != nil {
		return err
	}
	return t.Execute(w, &p)
}

// Last returns the index of the last shard.
func (p *Plan) Last() int { return p.Shards - 1 }

// Retries returns how often a shard is started again at most.
func (p *Plan) Retries() int { return Tries - 1 }

// Name returns the name of the jobs.
func (p *Plan) Name() string { return "gauntlet-" + p.Command[0] }

// Divided returns the command as a pod runs it.
func (p *Plan) Divided() []string {
	return append(slices.Clone(p.Command), "--shard", shard.Auto, "--units", "/results/units")
}

// Numbers returns the numbers of the shards, from 1.
func (p *Plan) Numbers() []int { return counted(p.Shards) }

// Attempts returns the numbers of the tries, from 1.
func (p *Plan) Attempts() []int { return counted(Tries) }

func counted(n int) (out []int) {
	for i := range n {
		out = append(out, i+1)
	}
	return out
}

// shell quotes a word, or several, for a POSIX shell.
func shell(words any) string {
	list, ok := words.([]string)
	if !ok {
		list = []string{fmt.Sprint(words)}
	}
	return quote.Shell(list...)
}

// flow writes a value as JSON, which is valid YAML.
func flow(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}
