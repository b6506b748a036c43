//go:build sweep

package main

import "testing"

// Every broken engine is caught, and every package of broken engines is in the list.
func TestMatrixOfBrokenEngines(t *testing.T) {
	o := gauntlet(t, t.TempDir(), "matrix", "--impl", "gbn", "--links", "clean", "--broken", "--json", "--quiet")
	m := readMatrix(t, []byte(o.stdout))
	if o.code != 0 || len(m.Kills) < 150 || m.Survivors() != 0 {
		t.Errorf("exit %d, %d broken engines", o.code, len(m.Kills))
	}
	for _, k := range m.Kills {
		if !k.Killed() {
			t.Errorf("%s %s: %s, not caught by %v %s", k.Family, k.Name, k.Status, k.Missed, k.Reason)
		}
	}
}
