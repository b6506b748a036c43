package tapes

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const lossy = "seed 3\nlink rate=1G delay=1ms\nloss A>B random p=1%\nqp rto=10ms qd=8\nload write msg=16KiB count=100\n"

// A seed replaces that of the scenario, and errors in the file are the user's.
func TestOpen(t *testing.T) {
	path := write(t, "wan.txt", lossy)
	seed := uint64(9)
	for _, c := range []struct {
		from string
		seed *uint64
		want uint64
	}{{"A", nil, 3}, {"B", &seed, 9}} {
		r, err := Open(path, c.from, c.seed)
		if err != nil || r.spec.Seed != c.want || r.from.String() != c.from {
			t.Errorf("from %s: %+v, %v; want seed %d", c.from, r, err, c.want)
		}
	}
	for _, c := range []struct{ path, from, want string }{
		{path, "C", `--from "C": want A or B`},
		{filepath.Join(filepath.Dir(path), "missing.txt"), "A", "missing.txt"},
		{write(t, "idle.txt", "seed 1\n"), "A", "nothing to do"},
	} {
		if _, err := Open(c.path, c.from, nil); fault.Of(err) != fault.User || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s from %s: %v, want %q as the user's fault", c.path, c.from, err, c.want)
		}
	}
}

// Play loses the packets of the tape again. For a tape of another workload its error has no fault of package fault.
func TestPlay(t *testing.T) {
	r, err := Open(write(t, "wan.txt", lossy), "A", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Record(t.Context(), "time", "soon"); fault.Of(err) != fault.User ||
		!strings.Contains(err.Error(), "--slot") {
		t.Errorf("a slot that is no duration: %v", err)
	}
	first, err := r.Record(t.Context(), "identity", "")
	if err != nil || first.Lost() == 0 {
		t.Fatalf("%v, %+v", err, first)
	}
	file := filepath.Join(t.TempDir(), "id.tape")
	if err := Write(first, file); err != nil {
		t.Fatal(err)
	}
	again, err := r.Play(t.Context(), file)
	if err != nil || again.Lost() != first.Lost() {
		t.Errorf("%d lost, %v; want %d", again.Lost(), err, first.Lost())
	}
	var out bytes.Buffer
	if err := Print(&out, first.Stats()); err != nil || !strings.Contains(out.String(), "on 1 connection") {
		t.Errorf("%v in\n%s", err, &out)
	}
	short, err := Open(write(t, "short.txt", "link rate=1G delay=1ms\nload write msg=1KiB count=2\n"), "A", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := short.Play(t.Context(), file); err == nil || fault.Of(err) != fault.None ||
		!strings.Contains(err.Error(), "another link or workload") {
		t.Errorf("a tape of another workload: %v", err)
	}
}
