package registry

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
)

// An unknown name is the user's mistake (exit code 2); a program that does not answer is not.
func TestFind(t *testing.T) {
	for _, name := range []string{"gbn", "rxe", "rnic"} {
		if impl, err := (Catalogue{}).Find(name); err != nil || impl.Name != name {
			t.Errorf("%s: %q, %v", name, impl.Name, err)
		}
	}
	for name, want := range map[string]fault.Kind{"nobody": fault.User, "exec:/nonexistent": fault.Harness} {
		if _, err := (Catalogue{}).Find(name); fault.Of(err) != want {
			t.Errorf("%s: %v, fault %d, want %d", name, err, fault.Of(err), want)
		}
	}
}

// The declaration that a program made once gives its implementation, including the options that it lacks.
func TestCatalogueKeepsWhatAProgramSaid(t *testing.T) {
	c := Catalogue{"exec:./mine": &contract.Capabilities{Program: "mine", Version: "1", Recovery: "gbn",
		Features: "rc gbn", Params: "window", Operations: "WRITE", Serves: "WRITE", MTUs: "1024", MaxQPs: 1}}
	impl, err := c.Find("exec:./mine")
	if err != nil || impl.Title != "mine 1" || impl.Name != "exec:./mine" || len(impl.Params) != 1 {
		t.Errorf("%+v, %v", impl, err)
	}
	s, err := scenario.Parse(strings.NewReader("impl exec:./mine gbn\nload send msg=1KiB count=1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Lacks(s); !strings.HasPrefix(got, "exec:./mine does not declare ") {
		t.Errorf("%q; want that it does not send", got)
	}
}

// A program of a scheme over IP sends no RoCEv2: the rules of reliable connections are not for it, and it meets the
// implementation of its scheme.
func TestProgramOverIP(t *testing.T) {
	c := Catalogue{"exec:./mine": &contract.Capabilities{Program: "mine", Version: "1", Recovery: "iwarp-ud",
		Operations: "SEND", Serves: "SEND", MTUs: "1024", MaxQPs: 1}}
	impl, err := c.Find("exec:./mine")
	if err != nil || !impl.OverIP() || slices.Contains(impl.Declares(), "rc") {
		t.Errorf("%v, %v; want no feature rc", impl.Declares(), err)
	}
	for name, want := range map[string]bool{"writerecord": true, "rciwarp": false, "gbn": false} {
		ours, _ := all.Find(name)
		if err := Together([2]engine.Implementation{impl, ours}); (err == nil) != want {
			t.Errorf("with %s: %v", name, err)
		}
	}
}

// A program with the feature openapn is told the depth that the path asks for.
func TestProgramIsToldTheDepth(t *testing.T) {
	c := Catalogue{"exec:./mine": &contract.Capabilities{Program: "mine", Version: "1", Recovery: "gbn",
		Features: "openapn", Operations: "SEND", Serves: "SEND", MTUs: "4096", MaxQPs: 1},
		"exec:./other": &contract.Capabilities{Program: "other", Version: "1", Recovery: "gbn",
			Operations: "SEND", Serves: "SEND", MTUs: "4096", MaxQPs: 1}}
	mine, err := c.Find("exec:./mine")
	if err != nil || mine.QueueDepth == nil {
		t.Fatalf("%v: want a depth", err)
	}
	path := engine.Path{RTT: vtime.Millisecond, Rate: 100 * unit.Gbps, Message: 4096}
	if depth, _, err := mine.QueueDepth(engine.QP{MTU: 4096, QueueDepth: 128, Path: path}); depth != 2993 || err != nil {
		t.Errorf("depth %d, %v", depth, err)
	}
	if other, _ := c.Find("exec:./other"); other.QueueDepth != nil {
		t.Error("a depth for a program that does not ask for it")
	}
}

func TestShort(t *testing.T) {
	for name, want := range map[string]string{"gbn": "gbn", "exec:./a/b": "b", "image:host:5000/a:tag": "a-tag"} {
		if got := Short(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestOpen(t *testing.T) {
	if _, err := Open("nowhere", ""); fault.Of(err) != fault.User || !strings.Contains(err.Error(),
		"want one of sim, netns, container, lab") {
		t.Errorf("%v", err)
	}
	b := OnDemand{Name: "sim"}
	if err := errors.Join(b.Open(), b.Open()); err != nil || b.Bench == nil {
		t.Errorf("%v, %v", b.Bench, err)
	}
}

// Runs is false for a bench that cannot start the implementation.
func TestRuns(t *testing.T) {
	for name, benches := range map[string][]string{"gbn": {"sim", "netns", "container", "lab", "remote"},
		"rnic": {"remote"}, "exec:./a": {"netns", "container", "lab"}, "image:a": {"container"},
		"rxe": {"netns", "lab", "remote"}} {
		for _, bench := range Benches() {
			want := strings.Contains(strings.Join(benches, " "), bench)
			if err := Runs(bench, "gbn", name); (err == nil) != want {
				t.Errorf("%s on %s: %v", name, bench, err)
			}
		}
	}
}

// Any two schemes over RoCEv2 can meet; a scheme over IP meets only itself.
func TestTogether(t *testing.T) {
	for pair, want := range map[[2]string]bool{{"gbn", "irn"}: true, {"gbn", "rciwarp"}: false,
		{"rciwarp", "rciwarp"}: true} {
		var impls [2]engine.Implementation
		for i, name := range pair {
			impls[i], _ = all.Find(name)
		}
		if err := Together(impls); (err == nil) != want {
			t.Errorf("%v: %v", pair, err)
		}
		if got := Framed(impls); got != (pair[1] == "rciwarp") {
			t.Errorf("%v are framed: %t", pair, got)
		}
	}
}
