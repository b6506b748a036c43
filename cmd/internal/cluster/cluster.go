// Package cluster writes what engines that run many tasks need to run the shards of a command and to merge them: a
// script for Slurm, a manifest for Kubernetes, a workflow for GitHub. It talks to no engine; a person reads what it
// writes, and submits it.
//
// All of them read exit codes the same way: 1 and 2 end a shard for good, because another try would end so too, and 3
// is tried again, three times in all. What is tried again goes on where it was, because results are kept.
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

// Plan is what is to be divided.
type Plan struct {
	Shards  int
	Command []string // without the name of the program and the flags that divide it
	Program string   // path of the program where the tasks run, for Slurm
	Image   string   // that has it, for Kubernetes
	Claim   string   // name of the PersistentVolumeClaim that all pods write results to, for Kubernetes
}

// Tries is how often a shard is started.
const Tries = 3

//go:embed templates
var templates embed.FS

// engine is what the tasks of one can be.
type engine struct {
	file string
	most int // shards
}

// engines by the names of their flags. A GitHub matrix of more than 256 jobs runs none; Slurm's arrays end at 1000
// unless MaxArraySize says otherwise.
var engines = map[string]engine{
	"slurm":  {"slurm.sh", 1000},
	"k8s":    {"kubernetes.yaml", shard.Most},
	"github": {"github.yml", 255},
}

// Names are the engines, in the order of help.
func Names() []string { return []string{"slurm", "k8s", "github"} }

// Write writes what an engine needs. The error is the user's, or that of w.
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

// Last is the index of the last shard.
func (p *Plan) Last() int { return p.Shards - 1 }

// Retries is how often a shard is started again.
func (p *Plan) Retries() int { return Tries - 1 }

// Name is the name of the jobs.
func (p *Plan) Name() string { return "gauntlet-" + p.Command[0] }

// Divided is the command as a pod runs it.
func (p *Plan) Divided() []string {
	return append(slices.Clone(p.Command), "--shard", shard.Auto, "--units", "/results/units")
}

// Numbers are the shards, counted from 1.
func (p *Plan) Numbers() []int { return counted(p.Shards) }

// Attempts are the tries, counted from 1.
func (p *Plan) Attempts() []int { return counted(Tries) }

func counted(n int) (out []int) {
	for i := range n {
		out = append(out, i+1)
	}
	return out
}

// shell writes a word, or several, for a POSIX shell.
func shell(words any) string {
	list, ok := words.([]string)
	if !ok {
		list = []string{fmt.Sprint(words)}
	}
	return quote.Shell(list...)
}

// flow writes a value as JSON, which YAML reads.
func flow(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}
