package recording

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

// spoil returns the frames, of which some have a bit of their ICRC inverted.
func spoil(list []capture.Frame, numbers ...int) []capture.Frame {
	list = slices.Clone(list)
	for _, i := range numbers {
		raw := slices.Clone(list[i].Raw)
		raw[len(raw)-1] ^= 1
		list[i].Raw = raw
	}
	return list
}

// A network that damages frames between two taps may have damaged frames before the first one too. What such frames
// said is unknown there, and at the only tap if its place was inferred.
func TestDamageBeforeATap(t *testing.T) {
	seen := func(answers int) (a, b []capture.Frame) { // after so many µs at B
		var text strings.Builder
		for i := range 6 {
			at := i * (990 + answers)
			fmt.Fprintf(&text, "@%d..%d A>B SEND_ONLY psn=+%d len=99 A\n@%d..%d B>A ACK psn=+%d msn=%d\n", at, at+490, i,
				at+490+answers, at+980+answers, i, i+1)
		}
		f := tracetest.Parse(t, text.String(), 0)
		return tracetest.FramesAt(f, trace.A), tracetest.FramesAt(f, trace.B)
	}
	a, b := seen(2)
	near, far := seen(900)
	for name, c := range map[string]struct {
		lists    [][]capture.Frame
		inferred bool
		doubt    bool
	}{
		"intact":                            {[][]capture.Frame{a, b}, false, false},
		"at both taps":                      {[][]capture.Frame{spoil(a, 1), spoil(b, 1)}, false, false},
		"at both taps, one far from a port": {[][]capture.Frame{spoil(near, 1), spoil(far, 1)}, true, true},
		"between the taps":                  {[][]capture.Frame{a, spoil(b, 2)}, true, false},
		"at both taps, and between them":    {[][]capture.Frame{spoil(a, 1), spoil(b, 1, 2)}, true, true},
		"at the only tap, from its port":    {[][]capture.Frame{spoil(b, 1)}, true, true},
		"at the only tap, from elsewhere":   {[][]capture.Frame{spoil(b, 2)}, true, false},
	} {
		r, _ := filed(t, c.lists...)
		d := r.Header.Conns[0].Doubts
		damaged := func(d *trace.Doubt) bool { return d != nil && strings.Contains(d.Why, "frames were damaged") }
		got := damaged(d[0]) && damaged(d[1])
		if r.Header.Inferred != c.inferred || got != c.doubt {
			t.Errorf("%s: inferred %v, doubt %v; %v", name, r.Header.Inferred, got, r.Capture)
		}
	}
}
