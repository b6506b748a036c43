package scenario

import "testing"

func TestPartyOf(t *testing.T) {
	for name, want := range map[string]Party{
		"gbn": {}, "rxe": {}, "exec:./bin/x:y": {Program: "./bin/x:y"}, "image:reg/x:1": {Image: "reg/x:1"},
		"broken-exec:": {},
	} {
		if got := PartyOf(name); got != want || Foreign(name) != (want != Party{}) {
			t.Errorf("%s: %+v, foreign %v", name, got, Foreign(name))
		}
	}
}
