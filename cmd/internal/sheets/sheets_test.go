package sheets

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDiff compares an implementation with another one, and with its own saved sheet.
func TestDiff(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	print := func(o Options, names ...string) string {
		t.Helper()
		found, err := o.Collect(t.Context(), names)
		must(err)
		var out bytes.Buffer
		must(o.Write(&out, found))
		return out.String()
	}
	saved := filepath.Join(t.TempDir(), "gbn.json")
	must(os.WriteFile(saved, []byte(print(Options{JSON: true}, "gbn")), 0o644))
	if got := print(Options{Diff: true}, saved, "gbn"); !strings.Contains(got, "0 of 18 properties differ") {
		t.Errorf("gbn differs from itself:\n%s", got)
	}
	got := print(Options{Diff: true}, saved, "irn")
	for _, want := range []string{"go-back-N, told by NAKs", "one for each early packet"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "NAK latency") {
		t.Errorf("a NAK latency within the tolerance is no difference:\n%s", got)
	}
}
