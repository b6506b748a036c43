package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDatasheetDiff compares an implementation with another one, and with what was saved of itself.
func TestDatasheetDiff(t *testing.T) {
	print := func(f datasheetFlags, names ...string) string {
		t.Helper()
		var out bytes.Buffer
		must(t, f.execute(t.Context(), &out, names))
		return out.String()
	}
	saved := filepath.Join(t.TempDir(), "gbn.json")
	must(t, os.WriteFile(saved, []byte(print(datasheetFlags{json: true}, "gbn")), 0o644))
	if got := print(datasheetFlags{diff: true}, saved, "gbn"); !strings.Contains(got, "0 of 18 properties differ") {
		t.Errorf("gbn differs from itself:\n%s", got)
	}
	got := print(datasheetFlags{diff: true}, saved, "irn")
	for _, want := range []string{"go-back-N, told by NAKs", "one for each early packet"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "NAK latency") {
		t.Errorf("a NAK latency within the tolerance is no difference:\n%s", got)
	}
}
