package sim_test

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// setUp plays a Spec and returns the set-up messages in the order of sending, and the number of them before the first
// request.
func setUp(t *testing.T, lines ...string) (names []string, data int, w *sim.World) {
	t.Helper()
	var c trace.Collector
	w, err := sim.New(spec(t, lines...), both(gbn.Implementation()), sim.Options{Bytes: true, Sink: &c})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	for i := range c.Records {
		p := &c.Records[i].Packet
		if p.DestQP != roce.CMQueuePair {
			if data == 0 {
				data = len(names)
			}
			continue
		}
		h, _, err := roce.DecodeCM(p.Payload)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, c.Records[i].From.String()+":"+h.Attribute.String())
	}
	return names, data, w
}

// Connections are set up before data flows, and torn down when A's work is done.
func TestSetUp(t *testing.T) {
	names, before, w := setUp(t, "cm on", "link rate=1G delay=10us", "load write msg=100 count=3")
	if got := strings.Join(names, " "); got != "A:REQ B:REP A:RTU A:DREQ B:DREP" || before != 3 {
		t.Errorf("%s, %d of them before data", got, before)
	}
	if s := w.Endpoint(trace.A).Shortfall(); s != "" {
		t.Error(s)
	}
}

// A message without an answer is sent again, and a repeated message is answered again.
func TestSetUpSurvivesLoss(t *testing.T) {
	names, _, w := setUp(t, "cm on", "link rate=1G delay=10us", "load write msg=100 count=3",
		"drop A type=CM nth=1", "drop B type=CM nth=1", "drop A type=CM nth=4")
	if got := strings.Join(names, " "); got != "A:REQ A:REQ B:REP A:REQ B:REP A:RTU A:DREQ B:DREP" {
		t.Error(got)
	}
	if s := w.Endpoint(trace.A).Shortfall(); s != "" {
		t.Error(s)
	}
}

// A connection that is never accepted prevents the work, and the shortfall says so.
func TestSetUpWithoutAnswer(t *testing.T) {
	names, _, w := setUp(t, "cm on", "link rate=1G delay=10us", "load write msg=100 count=3", "drop B type=CM count=*")
	if s := w.Endpoint(trace.A).Shortfall(); !strings.Contains(s, "connection 0 of A was never set up") ||
		strings.Count(strings.Join(names, " "), "A:REQ") != 8 {
		t.Errorf("%q after %d messages", s, len(names))
	}
}

// With work at both ends neither end knows when the other is done, so the connection is not torn down.
func TestNoTearDownWithWorkAtBothEnds(t *testing.T) {
	names, _, _ := setUp(t, "cm on", "link rate=1G delay=10us", "load write msg=100 count=3",
		"load write from=B msg=100 count=3")
	if got := strings.Join(names, " "); got != "A:REQ B:REP A:RTU" {
		t.Error(got)
	}
}

// Transports other than RoCEv2 have no set-up messages.
func TestSetUpOverIP(t *testing.T) {
	for _, impl := range all.Implementations() {
		if !impl.OverIP() {
			continue
		}
		if _, err := sim.New(spec(t, "cm on", "load write msg=100 count=1"), both(impl), sim.Options{}); err == nil ||
			!strings.Contains(err.Error(), "cm on") {
			t.Errorf("%s: %v, want an error about cm on", impl.Name, err)
		}
	}
}
