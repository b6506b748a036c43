//go:build netns || lab

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/meta/degrade"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// fromPositions judges a run from captures of each port and of the middle of its path, in files like those of other
// programs. No rule that held in the run fails from there. The place of the tap is recognised, or taken for one between
// the ends, from which fewer rules decide, because a late packet or a needless NAK looks like a loss beyond the tap.
func fromPositions(t *testing.T, r *model.Result) {
	t.Helper()
	h, play, err := recording.Open(r.Folder)
	must(t, err)
	wires, err := degrade.Wires(h, play)
	must(t, err)
	failed := map[string]bool{}
	for _, v := range r.Verdicts {
		failed[v.Rule] = v.Status == rule.Fail || v.Status == rule.XFail
	}
	places := map[string]string{"requester": "requester", "responder": "responder", "middle": "between"}
	for _, view := range degrade.Views {
		place := places[view.Name]
		if place == "" {
			continue
		}
		path := filepath.Join(t.TempDir(), view.Name+".pcapng")
		must(t, os.WriteFile(path, view.Of(wires[0]).File(), 0o644))
		again, decided := gauntlet(t, t.TempDir(), "judge", "--json", path).result(t), 0
		for _, v := range again.Verdicts {
			if v.Status == rule.Fail && !failed[v.Rule] {
				t.Errorf("%s: %s fails: %s", view.Name, v.Rule, v.Findings[0].Line())
			}
			if v.Status == rule.Pass || v.Status == rule.Fail {
				decided++
			}
		}
		if again.Capture == nil || !slices.Contains([]string{place, "between"}, again.Capture.Tap) || decided < 15 {
			t.Errorf("%s: %+v, %d rules decided", view.Name, again.Capture, decided)
		}
	}
}
