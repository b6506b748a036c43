package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
)

// TestProbeShows: the probes fill the rows that every implementation has. A probe that does not provoke its situation
// any more leaves a row empty.
func TestProbeShows(t *testing.T) {
	always := []string{"transport", "recovery", "NAKs per gap", "NAK latency", "retransmission latency",
		"resent on NAK", "timeouts",
		"retry limit", "RNR code sent", "RNR wait", "RNR retry limit", "AckReq", "requests per ACK", "ACK delay",
		"packets in flight", "messages in flight"}
	for _, name := range []string{"gbn", "gobackone", "irn", "fasr", "srnic", "lowar", "openapn"} {
		if testing.Short() && name != "irn" {
			continue
		}
		impl, _ := all.Find(name)
		sheets, err := Probe(t.Context(), impl, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, row := range always {
			if r := sheets[0].Find(row); r == nil || r.Seen == 0 {
				t.Errorf("%s: the probes do not show %q", name, row)
			}
		}
	}
}

// TestSheets: a run folder, its captures and a JSON file give the same sheet.
func TestSheets(t *testing.T) {
	o := options(t, lossy)
	execute(t, o)
	want, err := Sheets(t.Context(), nil, o.Folder)
	must(t, err)
	text, err := json.Marshal(want)
	must(t, err)
	saved := filepath.Join(t.TempDir(), "sheet.json")
	must(t, os.WriteFile(saved, text, 0o644))
	got, err := Sheets(t.Context(), nil, saved)
	must(t, err)
	if len(got) != 1 || got[0].Device != "gbn" || len(datasheet.Diff(want[0], got[0])) != 0 {
		t.Errorf("read back %d sheets, the first of %q", len(got), got[0].Device)
	}
	twice, err := Sheets(t.Context(), nil, o.Folder, o.Folder)
	must(t, err)
	if a, b := want[0].Find("ACK delay"), twice[0].Find("ACK delay"); b.Seen != 2*a.Seen || b.Value != a.Value {
		t.Errorf("of two traces: %+v, of one: %+v", b, a)
	}
}

func TestSheetsRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"empty.json": "[]", "other.json": `{"a": 1}`, "text.json": "no"} {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(content), 0o644))
		if _, err := Sheets(t.Context(), nil, path); err == nil || !strings.Contains(err.Error(),
			"want what 'datasheet --json' prints") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Sheets(t.Context(), nil, filepath.Join(dir, "absent.json")); err == nil {
		t.Error("a file that is not there was read")
	}
}
