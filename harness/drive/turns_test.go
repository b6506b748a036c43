package drive_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// TestTurns: both applications act like perftest and rping, with and without losses, whichever end begins.
func TestTurns(t *testing.T) {
	for _, c := range []struct {
		text string
		want map[string]int
	}{
		{"turns write from=A msg=1 count=300", map[string]int{"A WRITE": 300, "B WRITE": 300}},
		{"turns write from=B msg=5000 count=3\ndrop A psn=+2 tx=1\ndrop B psn=+4 tx=1",
			map[string]int{"A WRITE": 3, "B WRITE": 3}},
		{"turns rping from=A msg=40 count=7", map[string]int{"A SEND": 14, "B SEND": 14, "B READ": 7, "B WRITE": 7}},
		{"turns rping from=B msg=9000 count=2\ndrop B type=READ_RESP_MIDDLE count=1\ndrop A type=WRITE_MIDDLE count=1",
			map[string]int{"B SEND": 4, "A SEND": 4, "A READ": 2, "A WRITE": 2}},
	} {
		s, err := scenario.Parse(strings.NewReader("link rate=1G delay=20us\nqp rto=200us\n" + c.text + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		var got trace.Collector
		w, err := sim.New(s, [2]engine.Implementation{gbn.Implementation(), gbn.Implementation()},
			sim.Options{Bytes: true, Sink: &got})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Run(); err != nil {
			t.Errorf("%s: %v", c.text, err)
		}
		done := map[string]int{}
		for _, e := range got.Events {
			if e.Kind == trace.CQE && e.Body.Status == engine.StatusSuccess {
				done[e.Side.String()+" "+e.Body.Op.String()]++
			}
		}
		if !maps.Equal(done, c.want) {
			t.Errorf("%s: completed %v; want %v", c.text, done, c.want)
		}
		if why := w.Endpoint(trace.A).Shortfall() + w.Endpoint(trace.B).Shortfall(); why != "" {
			t.Errorf("%s: %s", c.text, why)
		}
	}
}

// TestTurnsNeedBytes: without bytes no end could see that a message has arrived.
func TestTurnsNeedBytes(t *testing.T) {
	s, err := scenario.Parse(strings.NewReader("turns write from=A msg=1 count=3\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := drive.New(s, trace.A, gbn.Implementation(), drive.Options{}); err == nil ||
		!strings.Contains(err.Error(), "codec on") {
		t.Errorf("%v, want what to write", err)
	}
}
