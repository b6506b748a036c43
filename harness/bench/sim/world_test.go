package sim_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/engine/tamper"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ndjson"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// fataler is a test, a benchmark or a property.
type fataler interface{ Fatalf(string, ...any) }

// spec builds a Spec from lines of scenario text.
func spec(tb fataler, lines ...string) *scenario.Spec {
	s := scenario.Default()
	for _, l := range lines {
		if err := s.Line(l); err != nil {
			tb.Fatalf("%v", err)
		}
	}
	if err := s.Validate(); err != nil {
		tb.Fatalf("%v", err)
	}
	return s
}

func both(impl engine.Implementation) [2]engine.Implementation {
	return [2]engine.Implementation{impl, impl}
}

// world builds the world of a Spec with the go-back-N engine at both ends.
func world(tb fataler, s *scenario.Spec, opts sim.Options) *sim.World {
	w, err := sim.New(s, both(gbn.Implementation()), opts)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	return w
}

// play runs a Spec and returns its world and trace.
func play(tb fataler, opts sim.Options, lines ...string) (*sim.World, *trace.Collector) {
	var c trace.Collector
	opts.Sink = &c
	w := world(tb, spec(tb, lines...), opts)
	if err := w.Run(); err != nil {
		tb.Fatalf("%v", err)
	}
	return w, &c
}

// tally counts the packets and events of a run.
type tally struct{ packets, events, completed int }

func (c *tally) Packet(*trace.Record) { c.packets++ }
func (c *tally) Event(e *trace.Event) {
	c.events++
	if e.Kind == trace.CQE && e.Body.Status == engine.StatusSuccess {
		c.completed++
	}
}
func (c *tally) End(vtime.Time) {}

// auditor is a Sink that checks invariants of every trace.
type auditor struct {
	errs      []string
	now       vtime.Time
	ended     bool
	sent      [2]int // by sender
	delivered [2]int // by sender, as the next two
	dropped   [2]int
	copies    [2]int
	injected  int
	memory    int64 // bytes that differ at the end
}

func (a *auditor) errorf(format string, args ...any) {
	if len(a.errs) < 5 {
		a.errs = append(a.errs, fmt.Sprintf(format, args...))
	}
}

func (a *auditor) tick(at vtime.Time, what string) {
	if at < a.now || a.ended {
		a.errorf("%s at %d after %d, ended %v", what, at, a.now, a.ended)
	}
	a.now = at
}

func (a *auditor) Packet(r *trace.Record) {
	a.tick(r.Time(), "packet")
	if r.Sent != vtime.Never && r.Recv < r.Sent {
		a.errorf("received at %d, sent at %d", r.Recv, r.Sent)
	}
	if r.Fate == trace.Dropped != (r.Recv == vtime.Never) {
		a.errorf("%s, received at %d", r.Fate, r.Recv)
	}
	switch {
	case r.Fate == trace.Injected:
		a.injected++
	case r.Copy:
		a.copies[r.From]++
		if r.Sent != vtime.Never {
			a.errorf("a copy sent at %d", r.Sent)
		}
	case r.Fate == trace.Dropped:
		a.sent[r.From]++
		a.dropped[r.From]++
	default:
		a.sent[r.From]++
		a.delivered[r.From]++
	}
}

func (a *auditor) Event(e *trace.Event) {
	a.tick(e.At, "event")
	if e.Kind == trace.Memory {
		a.memory += e.Value
	}
}

func (a *auditor) End(at vtime.Time) {
	a.tick(at, "end")
	a.ended = true
}

// balance checks that the trace and the link agree on packets sent, lost, delivered and copied.
func (a *auditor) balance(w *sim.World) {
	for side := trace.A; side <= trace.B; side++ {
		n := w.Channel(side).Counters()
		if uint64(a.sent[side]) != n.Offered || uint64(a.delivered[side]) != n.Delivered ||
			uint64(a.copies[side]) != n.Copies ||
			uint64(a.dropped[side]) != n.Lost+n.Overflow+n.Dropped {
			a.errorf("%s sent %d, delivered %d, dropped %d, copies %d; the link says %+v", side, a.sent[side],
				a.delivered[side], a.dropped[side], a.copies[side], n)
		}
	}
	if !a.ended {
		a.errorf("the trace has no end")
	}
}

// written returns the trace of a run as NDJSON.
func written(tb fataler, opts sim.Options, lines ...string) []byte {
	s := spec(tb, lines...)
	var b bytes.Buffer
	h := world(tb, s, opts).Header()
	out, err := ndjson.NewWriter(&b, &h)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	opts.Sink = out
	if err := world(tb, s, opts).Run(); err != nil {
		tb.Fatalf("%v", err)
	}
	if err := out.Flush(); err != nil {
		tb.Fatalf("%v", err)
	}
	return b.Bytes()
}

// rough is a link with every impairment.
var rough = []string{"seed 7", "link rate=1G delay=200us jitter=50us queue=100 reorder=1% duplicate=2% corrupt=1%",
	"loss random p=2%",
	"drop A psn=+2 tx=1", "reorder A psn=+9 behind=4", "dup B nth=3 copies=2", "corrupt A psn=+20 field=payload",
	"rewrite A psn=+21 field=ttl value=3",
	"mark A psn=+22", "delay A psn=+30 by=1ms", "qp count=3 qd=8 rto=2ms", "load write msg=10KiB count=30",
	"load read from=B msg=3000 count=20",
	"load send msg=100 count=40", "inject B at=300us icrc=bad : WRITE_ONLY psn=+3 len=8",
	"inject A at=1ms qp=1 : ACK psn=-5 msn=0"}

// One Spec and seed give one trace, byte by byte; another seed gives another.
func TestRunsRepeat(t *testing.T) {
	first := written(t, sim.Options{Bytes: true}, rough...)
	if again := written(t, sim.Options{Bytes: true}, rough...); !bytes.Equal(first, again) {
		t.Error("two runs of one seed differ")
	}
	if other := written(t, sim.Options{Bytes: true}, append(rough[1:], "seed 8")...); bytes.Equal(first, other) {
		t.Error("two seeds give one trace")
	}
	if n := bytes.Count(first, []byte("\n")); n < 2000 {
		t.Errorf("the trace has %d lines", n)
	}
}

// Scripts that do not alter packets give the same trace with and without the codec, except for the bytes.
func TestCodecChangesNothing(t *testing.T) {
	lines := []string{"link rate=1G delay=200us jitter=50us queue=100 reorder=1% duplicate=2%", "loss random p=2%",
		"drop A psn=+2 tx=1",
		"reorder A psn=+9 behind=4", "dup B nth=3 copies=2", "qp count=3 qd=8 rto=2ms", "report detail",
		"load write msg=10KiB count=30",
		"load read from=B msg=3000 count=20"}
	_, with := play(t, sim.Options{Bytes: true}, lines...)
	_, without := play(t, sim.Options{}, lines...)
	if len(with.Records) != len(without.Records) || len(with.Records) < 1500 || with.Ended != without.Ended {
		t.Fatalf("%d records until %d with the codec, %d until %d without", len(with.Records), with.Ended,
			len(without.Records), without.Ended)
	}
	for i := range with.Records {
		a, b := with.Records[i], without.Records[i]
		if a.ICRC != trace.Good || a.Raw == nil || b.ICRC != trace.Unchecked || b.Raw != nil {
			t.Fatalf("record %d: ICRC %d and %d", i, a.ICRC, b.ICRC)
		}
		a.Raw, a.Sum, a.ICRC, a.Packet.Payload = nil, 0, 0, nil
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("record %d:\n%+v\n%+v", i, a, b)
		}
	}
	j := 0
	for _, a := range with.Events {
		if a.Kind == trace.Memory {
			continue
		}
		b := without.Events[j]
		j++
		if a.Sum, b.Sum = 0, 0; a != b {
			t.Fatalf("event %d:\n%+v\n%+v", j, a, b)
		}
	}
	if j != len(without.Events) {
		t.Errorf("%d events with the codec, %d without", j, len(without.Events))
	}
}

// 5 000 QPs run, each to its end.
func TestManyQPs(t *testing.T) {
	var a auditor
	w := world(t, spec(t, "link rate=10G delay=1ms", "qp count=5000 qd=2 receives=1", "load write msg=2KiB count=3"),
		sim.Options{Sink: &a})
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	if a.balance(w); a.errs != nil || a.sent[trace.A] != 5000*3*2 || w.Endpoint(trace.A).Share() != 1 {
		t.Errorf("%d packets, share %v, %q", a.sent[trace.A], w.Endpoint(trace.A).Share(), a.errs)
	}
}

// In steady state a packet needs no allocation, with and without bytes.
func TestNoAllocationPerPacket(t *testing.T) {
	for _, opts := range []sim.Options{{}, {Bytes: true}} {
		run := func(duration string) (mallocs float64, packets int) {
			var n tally
			mallocs = testing.AllocsPerRun(1, func() {
				n = tally{}
				opts.Sink = &n
				w := world(t, spec(t, "link rate=10G delay=1ms queue=10000", "loss random p=1e-4", "qp qd=16",
					"load write msg=64KiB", "run for="+duration), opts)
				if err := w.Run(); err != nil {
					t.Fatal(err)
				}
			})
			return mallocs, n.packets
		}
		few, short := run("20ms")
		many, long := run("200ms")
		if extra := (many - few) / float64(long-short); extra > 0.002 && !raceEnabled || long < 100_000 {
			t.Errorf("bytes %v: %.4f allocations per packet: %v for %d packets, %v for %d", opts.Bytes, extra, few,
				short, many, long)
		}
	}
}

var _ trace.Sink = (*auditor)(nil)

// The sender's tap sees a packet as it was sent, the receiver's tap as it arrived.
func TestAlteredPackets(t *testing.T) {
	_, c := play(t, sim.Options{Bytes: true}, "link rate=1G delay=10us", "corrupt A psn=+1 tx=1 field=payload",
		"rewrite A psn=+2 tx=1 field=ttl value=3",
		"mark A psn=+3 tx=1", "drop A psn=+0 tx=2", "qp rto=1ms", "post-write len=5000")
	fates := map[string]trace.Fate{"corrupt[0]": trace.Corrupted, "rewrite[1]": trace.Delivered,
		"mark[2]": trace.Delivered}
	for _, r := range c.Records {
		want, altered := fates[r.Cause]
		if (r.Changed != nil) != altered || altered && r.Fate != want || r.ICRC != trace.Good {
			t.Errorf("%s %s: %s, changed %v", r.Packet.String(), r.Cause, r.Fate, r.Changed != nil)
		}
		if !altered {
			continue
		}
		delete(fates, r.Cause)
		good := r.Changed.ICRC == trace.Good
		if bytes.Equal(r.Raw, r.Changed.Raw) || good == (r.Fate == trace.Corrupted) ||
			(r.Changed.Sum == r.Sum) == (r.Fate == trace.Corrupted) {
			t.Errorf("%s: ICRC good %v, sums %#x and %#x", r.Cause, good, r.Sum, r.Changed.Sum)
		}
	}
	if len(fates) != 0 {
		t.Errorf("never seen: %v", fates)
	}
}

// An implementation that changes whole frames may reuse the memory that it returns.
func TestFramesOfAnImplementation(t *testing.T) {
	var shared []byte
	sent := 0
	impl := tamper.Around(gbn.Implementation(), tamper.Frames{Out: func(f []byte) []byte {
		shared = append(shared[:0], f...)
		if sent++; sent == 2 {
			shared[len(shared)-1] ^= 1
		}
		return shared
	}})
	var c trace.Collector
	w, err := sim.New(spec(t, "link rate=1G delay=1ms", "qp rto=10ms", "post-write len=5000"), both(impl),
		sim.Options{Bytes: true, Sink: &c})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	if n := w.Endpoint(trace.B).Counters()["icrc"]; n != 1 || c.Records[1].ICRC != trace.Bad ||
		c.Records[2].ICRC != trace.Good {
		t.Errorf("%d bad ICRCs; recorded %d and %d", n, c.Records[1].ICRC, c.Records[2].ICRC)
	}
	for _, e := range c.Events {
		if e.Kind == trace.Memory && e.Value != 0 {
			t.Errorf("%s: %d bytes", e.Name, e.Value)
		}
	}
}
