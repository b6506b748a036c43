//go:build netns

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// gated runs a gate on real packets, at most five times while the exit code is 3, as for a link unlike its Spec.
func gated(t *testing.T, text string) (*model.Gate, exited, string) {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "a.gate"), []byte("gate 1\n"+text), 0o644))
	var o exited
	for range 5 {
		must(t, os.RemoveAll(filepath.Join(dir, "out")))
		if o = gauntlet(t, dir, "gate", "a.gate", "--out", "out"); o.code != exitBroken {
			break
		}
	}
	read, err := os.ReadFile(filepath.Join(dir, "out", "gate.json"))
	must(t, err)
	var g model.Gate
	must(t, json.Unmarshal(read, &g))
	summary, err := os.ReadFile(filepath.Join(dir, "out", "summary.md"))
	must(t, err)
	return &g, o, string(summary)
}

// The gate fails on the example's planted fault, which breaks its rule in every run, and passes on the repaired
// example.
func TestGateOfTheExample(t *testing.T) {
	beside(t)
	program := example(t)
	const what = "\nscenarios GBN-NAK-002 && !random\nlinks none\n"
	g, o, summary := gated(t, "impl "+program+"/gbn"+what)
	if o.code != exitFailure || g.Status != "FAIL" || len(g.Broken()) != 1 || g.Broken()[0].Rule != "GBN-NAK-002" ||
		len(g.Stages[0].Left) == 0 {
		t.Errorf("exit %d, %s %q\n%s%s", o.code, g.Status, g.Reasons, o.stdout, o.stderr)
	}
	for _, want := range []string{"### FAIL", "`GBN-NAK-002`", "<== GBN-NAK-002", "in all 3 runs of the same Spec"} {
		if !strings.Contains(summary, want) {
			t.Errorf("no %q in\n%s", want, summary)
		}
	}
	g, o, summary = gated(t, "impl "+program+"/gbn-repaired"+what)
	if o.code != 0 || g.Status != "PASS" || len(g.Stages) != 1 || !strings.Contains(summary, "### PASS") {
		t.Errorf("exit %d, %s %q\n%s%s", o.code, g.Status, g.Reasons, o.stdout, o.stderr)
	}
}

// The Go example is a module of its own: its go test plays the scenarios, and its program passes its gate.
func TestGateOfTheGoExample(t *testing.T) {
	beside(t)
	needNetns(t)
	dir := filepath.Join(t.TempDir(), "transport")
	must(t, os.CopyFS(dir, os.DirFS("../../.github/examples/go-transport")))
	goModule(t, dir)
	for _, words := range [][]string{{"build", "-o", "build/endpoint", "./cmd/endpoint"}, {"test", "-vet=off", "-run",
		"TestTransport/loss-", "-v", "."}} {
		c := exec.Command("go", words...)
		c.Dir, c.Env = dir, append(os.Environ(), "GOFLAGS=-trimpath", "GOPROXY=off", "CGO_ENABLED=0")
		out, err := c.CombinedOutput()
		if err != nil || words[0] == "test" && strings.Count(string(out), "--- PASS: TestTransport/loss-") < 3 {
			t.Fatalf("%v: %v\n%s", words, err, out)
		}
	}
	if g, o,
		_ := gated(t, "impl exec:"+dir+"/build/endpoint gbn\nscenarios GBN-NAK-002 && "+
		"!random\nlinks clean\n"); o.code != 0 ||
		g.Status != "PASS" ||
		g.Peer != "gbn" {
		t.Errorf("exit %d, %s %q\n%s%s", o.code, g.Status, g.Reasons, o.stdout, o.stderr)
	}
}

// goModule writes the go.mod and go.sum of a module that uses this tree, as go mod tidy would, without the network.
func goModule(t *testing.T, dir string) {
	t.Helper()
	here, err := filepath.Abs("../..")
	must(t, err)
	sums, err := os.ReadFile("../../go.sum")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644))
	ours, err := os.ReadFile("../../go.mod")
	must(t, err)
	theirs, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	must(t, err)
	_, requires, _ := strings.Cut(string(ours), "\nrequire (")
	text := string(theirs) + "\nreplace github.com/rdma-gauntlet/gauntlet => " + here + "\n\nrequire (" + requires
	must(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644))
}
