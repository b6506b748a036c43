package run

import (
	"strings"
	"testing"
)

// A fault that met no packet is named in a warning, and one that met a packet is not.
func TestMissedFaultIsNamed(t *testing.T) {
	o := options(t, lossy+"drop A psn=+1 tx=1\ndrop A psn=+700000 tx=1\n")
	r := execute(t, o)
	var said []string
	for _, w := range r.Warnings {
		if strings.Contains(w, "no packet met") {
			said = append(said, w)
		}
	}
	if len(said) != 1 || !strings.Contains(said[0], `"drop A psn=+700000 tx=1"`) {
		t.Errorf("%q", said)
	}
}
