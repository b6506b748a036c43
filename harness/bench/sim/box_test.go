package sim_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/merge"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ndjson"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/pseudoack"
)

// divided is a path with a middlebox on which both hops lose packets in both directions, with several connections.
var divided = []string{"seed 7", "link rate=1G delay=100us queue=1000", "loss random p=1%", "lan rate=1G",
	"lan loss random p=0.5%",
	"lan drop A psn=+3 tx=1", "drop A psn=+4 tx=1", "qp count=3 qd=8 rto=5ms", "load write msg=5KiB count=20",
	"load read msg=3000 count=10", "load send msg=100 from=B count=10"}

// through plays lines over a path with a middlebox.
func through(t *testing.T, opts sim.Options, lines ...string) (*sim.World, *trace.Collector) {
	t.Helper()
	var c trace.Collector
	opts.Sink = &c
	w, err := sim.New(spec(t, lines...), both(pseudoack.Over(gbn.Implementation())), opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	for _, side := range []trace.Side{trace.A, trace.B} {
		if s := w.Endpoint(side).Shortfall(); s != "" {
			t.Error(s)
		}
	}
	return w, &c
}

// A path with a middlebox runs the same with and without the codec, so the middlebox does not change the frames that it
// forwards.
func TestBoxWithAndWithoutCodec(t *testing.T) {
	_, with := through(t, sim.Options{Bytes: true}, divided...)
	_, without := through(t, sim.Options{}, divided...)
	if len(with.Records) != len(without.Records) || len(with.Records) < 1000 {
		t.Fatalf("%d records with the codec, %d without", len(with.Records), len(without.Records))
	}
	for i := range with.Records {
		a, b := with.Records[i], without.Records[i]
		a.Raw, a.Sum, a.ICRC, a.Packet.Payload = nil, 0, 0, nil
		b.Raw, b.Sum, b.ICRC, b.Packet.Payload = nil, 0, 0, nil
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("record %d:\n%+v\n%+v", i, a, b)
		}
	}
	for _, e := range with.Events {
		if e.Kind == trace.Memory && e.Value != 0 {
			t.Errorf("connection %d, side %v: %s=%d", e.Conn, e.Side, e.Name, e.Value)
		}
	}
}

// Every frame that crosses both hops is the same on both, byte by byte from the IP header on.
func TestBoxForwardsFrames(t *testing.T) {
	w, c := through(t, sim.Options{Bytes: true}, divided...)
	h := w.Header()
	seen := map[string]bool{}
	crossed := 0
	for i := range c.Records {
		r := &c.Records[i]
		if o := r.Packet.Opcode; r.From != trace.A || o.IsResponse() || o.IsRead() {
			continue
		}
		switch h.On(r.Conn) {
		case trace.LANHop:
			seen[string(r.Raw)] = true
		case trace.WANHop:
			crossed++
			if !seen[string(r.Raw)] {
				t.Fatalf("record %d: %s was never sent by A", i, r.Packet.AppendText(nil, roce.TextOptions{}))
			}
		}
	}
	if crossed < 300 {
		t.Errorf("%d frames crossed", crossed)
	}
}

// The stored trace of a divided path reads back.
func TestDividedTraceRoundTrip(t *testing.T) {
	w, c := through(t, sim.Options{}, divided...)
	h := w.Header()
	if !h.Divided() || len(h.Conns) != 6 || h.Twin(1) != 4 || h.Twin(4) != 1 || h.On(1) != trace.LANHop ||
		h.On(5) != trace.WANHop {
		t.Fatalf("header: %d connections, twin of 1 is %d", len(h.Conns), h.Twin(1))
	}
	var b bytes.Buffer
	out, err := ndjson.NewWriter(&b, &h)
	if err != nil {
		t.Fatal(err)
	}
	c.Play(out)
	in, err := ndjson.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	for i, conn := range in.Header().Conns {
		if d := cmp.Diff(h.Conns[i], conn, cmp.Comparer(func(a, b fmt.Stringer) bool {
			return a.String() == b.String()
		})); d != "" {
			t.Errorf("connection %d: %s", i, d)
		}
	}
	var again trace.Collector
	if err := in.Play(&again); err != nil || len(again.Records) != len(c.Records) {
		t.Errorf("%d records of %d come back: %v", len(again.Records), len(c.Records), err)
	}
}

// tapped writes the captures of a divided path into a folder.
func tapped(t *testing.T, w *sim.World, c *trace.Collector) (dir string) {
	t.Helper()
	h := w.Header()
	dir = t.TempDir()
	for _, tap := range []capture.Tap{{Side: trace.A, Hop: trace.LANHop}, {Side: trace.B, Hop: trace.LANHop},
		{Side: trace.A, Hop: trace.WANHop},
		{Side: trace.B, Hop: trace.WANHop}} {
		f, err := os.Create(filepath.Join(dir, tap.File()))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		out, err := capture.NewWriter(f, &h, tap, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		c.Play(trace.NewTimeline(&h, out))
		if skipped, err := out.Flush(); skipped > 0 || err != nil {
			t.Fatal(skipped, err)
		}
	}
	return dir
}

// The captures of both hops, one per tap, read back as the trace; they have every frame twice.
func TestDividedCapturesRoundTrip(t *testing.T) {
	w, c := through(t, sim.Options{Bytes: true}, divided...)
	h, play, err := recording.Open(tapped(t, w, c))
	if err != nil || !h.Divided() {
		t.Fatalf("divided %v, %v", h.Divided(), err)
	}
	var again trace.Collector
	if err := play(&again); err != nil || len(again.Records) != len(c.Records) {
		t.Fatalf("%d records of %d come back: %v", len(again.Records), len(c.Records), err)
	}
	for i := range c.Records {
		if a, b := &c.Records[i], &again.Records[i]; a.Conn != b.Conn || a.Sent != b.Sent || a.Recv != b.Recv ||
			!bytes.Equal(a.Raw, b.Raw) {
			t.Fatalf("record %d:\n%+v\n%+v", i, a, b)
		}
	}
}

// The frames of four taps, without the notes in the captures, merge to the trace of both hops: connections, including
// those of set-up messages, order and fates.
func TestMergeHops(t *testing.T) {
	w, c := through(t, sim.Options{Bytes: true}, divided...)
	h, dir := w.Header(), tapped(t, w, c)
	var spans []merge.Span
	var seen [2]trace.Collector
	for i, hop := range []trace.Hop{trace.LANHop, trace.WANHop} {
		span := merge.Span{Watch: &seen[i]}
		for _, side := range []trace.Side{trace.A, trace.B} {
			f, err := os.Open(filepath.Join(dir, capture.Tap{Side: side, Hop: hop}.File()))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			in, err := capture.NewReader(f)
			if err != nil {
				t.Fatal(err)
			}
			span.Sources = append(span.Sources, in)
		}
		spans = append(spans, span)
	}
	var merged trace.Collector
	if err := merge.Hops(&h, spans, merge.Options{Zero: time.Unix(0, 0)}, &merged); err != nil {
		t.Fatal(err)
	}
	if len(seen[0].Records) == 0 || len(seen[0].Records)+len(seen[1].Records) != len(merged.Records) {
		t.Errorf("%d and %d records make %d", len(seen[0].Records), len(seen[1].Records), len(merged.Records))
	}
	if d := cmp.Diff(perConn(c), perConn(&merged)); d != "" {
		t.Errorf("-sim +merged\n%s", d)
	}
	for i := 1; i < len(merged.Records); i++ {
		if merged.Records[i].Time() < merged.Records[i-1].Time() {
			t.Fatalf("record %d is earlier than the one before", i)
		}
	}
}

// perConn lists the packets of each connection and side, with their fates.
func perConn(c *trace.Collector) map[string][]string {
	out := map[string][]string{}
	for i := range c.Records {
		r := &c.Records[i]
		key := fmt.Sprint(r.Conn, r.From)
		out[key] = append(out[key], fmt.Sprint(string(r.Packet.AppendText(nil, roce.TextOptions{})), " ", r.Fate))
	}
	return out
}

// A middlebox that cannot be built is an error that names the parameter.
func TestBoxRefusals(t *testing.T) {
	_, err := sim.New(spec(t, "param buffer=lots", "load write msg=1 count=1"),
		both(pseudoack.Over(gbn.Implementation())), sim.Options{})
	if err == nil || !strings.Contains(err.Error(), "parameter buffer") {
		t.Errorf("%v, want an error about the parameter", err)
	}
}
