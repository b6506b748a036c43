package relay

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// etherType marks the test's own frames (local experimental use, IEEE 802).
const etherType = 0x88B5

// numbered returns a frame with a number in place of a PSN.
func numbered(n, size int) []byte {
	f := make([]byte, size)
	binary.BigEndian.PutUint16(f[12:], etherType)
	binary.BigEndian.PutUint32(f[14:], uint32(n))
	return f
}

// plain classifies numbered frames; the number is the PSN and its offset.
type plain struct{}

// Fingerprint returns the sum of the bytes, each times its position.
func (plain) Fingerprint(f []byte) (sum uint64) {
	for i, b := range f {
		sum += uint64(i+1) * uint64(b)
	}
	return sum
}

func (plain) Classify(_ fault.Side, f []byte) (fault.Identity, bool) {
	if len(f) < 18 || binary.BigEndian.Uint16(f[12:]) != etherType {
		return fault.Identity{}, false
	}
	n := binary.BigEndian.Uint32(f[14:])
	return fault.Identity{PSN: n, Offset: int(n), Type: "DATA", Class: fault.Data}, true
}

// flipLast is an Alter function that changes the last byte.
func flipLast(f []byte, _ *channel.Verdict) { f[len(f)-1] ^= 0xFF }

// device is the far end of a path: the frames that it got, and the number that it still accepts.
type device struct {
	got  [][]byte
	room int // frames that it accepts before it is full
}

func (*device) Receive() ([]packetio.Packet, error) { return nil, nil }
func (*device) Fd() int                             { return -1 }
func (*device) Counts() (packetio.Counts, error)    { return packetio.Counts{}, nil }

func (d *device) Send(frames [][]byte) (int, error) {
	n := min(len(frames), d.room)
	for _, f := range frames[:n] {
		d.got = append(d.got, bytes.Clone(f))
	}
	d.room -= n
	return n, nil
}

// bench is a relay with time and frames from the test.
type bench struct {
	*relay
	b   *device
	log bytes.Buffer
}

func newBench(t *testing.T, c Config) *bench {
	t.Helper()
	x := &bench{b: &device{room: 1 << 20}}
	c.Clock, c.A, c.B, c.Classifier, c.Alter = packetio.NewClock(packetio.Monotonic()), &device{},
		x.b, plain{}, flipLast
	for _, l := range []*spec.Link{&c.Link.AB, &c.Link.BA} {
		l.Queue = max(l.Queue, 1)
	}
	if err := c.validate(); err != nil {
		t.Fatal(err)
	}
	x.relay = &relay{config: &c, store: store{limit: c.Memory}, journal: newJournal(&x.log),
		causes: map[channel.Cause]string{}}
	x.ab, x.ba = newPath(x.relay, fault.A, c.A, c.B, c.PastB), newPath(x.relay, fault.B, c.B, c.A, c.PastA)
	if err := x.begin(RunPhase, 0); err != nil {
		t.Fatal(err)
	}
	return x
}

// send offers frame n at a time.
func (x *bench) send(at vtime.Time, n int) {
	f := numbered(n, 60)
	x.ab.accept(&packetio.Packet{Data: f, Length: len(f), Time: at})
}

// advance runs the path until a time and returns the numbers of the frames that left, altered ones negated.
func (x *bench) advance(t *testing.T, now vtime.Time) (out []int) {
	t.Helper()
	x.ab.release(now)
	x.ab.injectTimed(now)
	for range 100 {
		if err := x.ab.depart(now); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range x.b.got {
		n := int(binary.BigEndian.Uint32(f[14:]))
		if f[len(f)-1] != 0 {
			n = -n
		}
		out = append(out, n)
	}
	x.b.got = nil
	return out
}

// fates returns the number, fate and cause of each log entry.
func (x *bench) fates(t *testing.T) string {
	t.Helper()
	if err := x.journal.close(); err != nil {
		t.Fatal(err)
	}
	var out []string
	err := ReadLog(&x.log, func(r Record) error {
		line := r.Type + " " + string(r.Fate)
		if r.Fate != Injected || r.Type != "" {
			line = string(rune('0'+r.PSN)) + " " + string(r.Fate)
		}
		out = append(out, strings.TrimSpace(line+" "+r.Cause))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, ", ")
}

func ms(n int64) vtime.Time { return vtime.Time(n) * vtime.Time(vtime.Millisecond) }

func mustFault(t *testing.T, f fault.Fault) fault.Fault {
	t.Helper()
	if err := f.Validate(); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFaultsOnNamedPackets(t *testing.T) {
	from := func(f fault.Fault) fault.Fault {
		f.From, f.QP = fault.A, fault.AnyQP
		return mustFault(t, f)
	}
	x := newBench(t, Config{
		Link: spec.Duplex{AB: spec.Link{Delay: 10 * vtime.Millisecond}},
		Faults: []fault.Fault{
			from(fault.Fault{Action: fault.Drop, PSN: fault.At(1)}),
			from(fault.Fault{Action: fault.Duplicate, PSN: fault.At(2), Copies: 1}),
			from(fault.Fault{Action: fault.Reorder, PSN: fault.At(3), Behind: 1}),
			from(fault.Fault{Action: fault.Corrupt, PSN: fault.At(5), Field: fault.Payload}),
		},
	})
	for n := range 7 {
		x.send(ms(int64(n)), n)
	}
	if out := x.advance(t, ms(9)); out != nil {
		t.Errorf("%v came before their delay", out)
	}
	if diff := cmp.Diff([]int{0, 2, 2, 4, 3}, x.advance(t, ms(14))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{-5, 6}, x.advance(t, ms(16))); diff != "" {
		t.Error(diff)
	}
	want := "0 D, 1 L drop[0], 2 D dup[1], 4 D, 3 D reorder[2], 5 D corrupt[3], 6 D"
	if diff := cmp.Diff(want, x.fates(t)); diff != "" {
		t.Error(diff)
	}
	s := x.ab.summary()
	if s.Received != 7 || s.Forwarded != 7 || s.InFlight != 0 || s.Channel.Dropped != 1 || s.Channel.Copies != 1 {
		t.Errorf("stats %+v", s)
	}
}

// A held packet without enough successors is released after a time, and at once when the phase ends.
func TestHeldPacketsGo(t *testing.T) {
	hold := fault.Fault{Action: fault.Reorder, From: fault.A, QP: fault.AnyQP, PSN: fault.At(0), Behind: 3}
	link := spec.Duplex{AB: spec.Link{Delay: vtime.Millisecond}}
	x := newBench(t, Config{Link: link, Faults: []fault.Fault{mustFault(t, hold)}})
	x.send(0, 0)
	due := x.ab.next(ms(1))
	if due == vtime.Never || x.advance(t, due-1) != nil {
		t.Fatalf("a held packet is due at %d", due)
	}
	if out := x.advance(t, due); len(out) != 1 {
		t.Errorf("the deadline let go %v", out)
	}
	x = newBench(t, Config{Link: link, Faults: []fault.Fault{hold}})
	x.send(0, 0)
	if err := x.begin(ProbePhase, 0); err != nil {
		t.Fatal(err)
	}
	if out := x.advance(t, ms(1000)); len(out) != 1 {
		t.Errorf("the end of the phase let go %v", out)
	}
}

func TestProbeConsumesNoDraws(t *testing.T) {
	config := Config{
		Link: spec.Duplex{AB: spec.Link{Loss: spec.Loss{Model: spec.Bernoulli, P: 0.5}}},
		Faults: []fault.Fault{{Action: fault.Drop, From: fault.A, QP: fault.AnyQP, PSN: fault.At(0),
			Count: fault.Every}},
		SeedAB: 4, SeedBA: 5,
	}
	outcome := func(probes int) []int {
		x := newBench(t, config)
		if err := x.begin(ProbePhase, 0); err != nil {
			t.Fatal(err)
		}
		for n := range probes {
			x.send(0, n)
		}
		if out := x.advance(t, 0); len(out) != probes {
			t.Errorf("%d of %d probes arrived", len(out), probes)
		}
		if err := x.begin(RunPhase, 0); err != nil {
			t.Fatal(err)
		}
		for n := range 64 {
			x.send(0, n)
		}
		out := x.advance(t, 0)
		if len(out) < 16 || len(out) > 48 || out[0] == 0 {
			t.Errorf("the run delivered %v", out)
		}
		return out
	}
	if diff := cmp.Diff(outcome(0), outcome(500)); diff != "" {
		t.Errorf("probing shifted the losses: %s", diff)
	}
}

func TestForeignAndOversize(t *testing.T) {
	for _, choice := range []Foreign{Pass, Drop} {
		x := newBench(t, Config{Link: spec.Duplex{AB: spec.Link{Delay: vtime.Second}}, Foreign: choice})
		arp := make([]byte, 60)
		x.ab.accept(&packetio.Packet{Data: arp, Length: 60, Time: 5})
		if out := x.advance(t, 5); len(out) != map[Foreign]int{Pass: 1, Drop: 0}[choice] {
			t.Errorf("%s: %d frames came out", choice, len(out))
		}
		x.ab.accept(&packetio.Packet{Data: arp, Length: 20000, Time: 6})
		if s := x.ab.summary(); s.Foreign != 1 || s.Oversize != 1 || s.Channel.Offered != 0 {
			t.Errorf("%s: stats %+v", choice, s)
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	x := newBench(t, Config{Link: spec.Duplex{AB: spec.Link{Delay: vtime.Second}}, Memory: 1 << 20})
	const fits = 1 << 20 / smallest
	for n := range fits + 3 {
		x.send(0, n)
	}
	if s := x.ab.summary(); s.Overflow != 3 || s.InFlight != fits {
		t.Errorf("overflow %d with %d in flight; want 3 and %d", s.Overflow, s.InFlight, fits)
	}
	if x.stats().Memory > 1<<20 {
		t.Errorf("%d bytes in use", x.stats().Memory)
	}
	for due := ms(1000); x.ab.out.queue.len() > 0; {
		x.advance(t, due)
	}
	x.send(ms(2000), 1)
	if s := x.ab.summary(); s.Overflow != 3 {
		t.Error("memory did not come back")
	}
}

func TestStalledDeviceKeepsOrder(t *testing.T) {
	x := newBench(t, Config{})
	x.b.room = 2
	for n := range 5 {
		x.send(0, n)
	}
	if diff := cmp.Diff([]int{0, 1}, x.advance(t, 1)); diff != "" {
		t.Error(diff)
	}
	if next := x.ab.next(ms(1)); next != ms(1).Add(retry) {
		t.Errorf("a stalled path is next due at %d", next)
	}
	x.send(2, 5)
	x.b.room = 100
	if diff := cmp.Diff([]int{2, 3, 4, 5}, x.advance(t, 3)); diff != "" {
		t.Error(diff)
	}
	if s := x.ab.summary(); s.Stalls == 0 || s.Forwarded != 6 {
		t.Errorf("stats %+v", s)
	}
}

func TestInjections(t *testing.T) {
	x := newBench(t, Config{
		Link: spec.Duplex{AB: spec.Link{Delay: 10 * vtime.Millisecond, Loss: spec.Loss{Model: spec.Bernoulli, P: 1}}},
		Injections: []Injection{
			{From: fault.A, At: 5 * vtime.Millisecond, Frame: numbered(7, 60), Name: "early"},
			{From: fault.A, AfterN: 2, Frame: numbered(8, 60)},
			{From: fault.B, At: 0, Frame: numbered(9, 60)}, // the other direction
		},
	})
	x.send(0, 0)
	x.send(ms(1), 1) // lost like all packets, and followed by number 8 at its time of arrival
	if x.ab.next(0) != ms(5) {
		t.Errorf("next is %d, want the timed injection", x.ab.next(0))
	}
	for _, step := range []struct {
		at   vtime.Time
		want []int
	}{{ms(5) - 1, nil}, {ms(5), []int{7}}, {ms(11) - 1, nil}, {ms(11), []int{8}}} {
		if diff := cmp.Diff(step.want, x.advance(t, step.at)); diff != "" {
			t.Errorf("at %s: %s", step.at.Micros(), diff)
		}
	}
	if diff := cmp.Diff("0 L loss, 1 L loss, 8 I inject, 7 I early", x.fates(t)); diff != "" {
		t.Error(diff)
	}
	if s := x.ab.summary(); s.Injected != 2 || s.Channel.Offered != 2 {
		t.Errorf("stats %+v", s)
	}
}

// Crafted frames bypass the qdisc of the device, and all other frames go through it.
func TestWayPastTheQdisc(t *testing.T) {
	past := &device{room: 1}
	x := newBench(t, Config{PastB: past, Injections: []Injection{{From: fault.A, Frame: numbered(7, 60)},
		{From: fault.A, Frame: numbered(8, 60)}}})
	x.send(0, 1)
	if diff := cmp.Diff([]int{1}, x.advance(t, 0)); diff != "" {
		t.Error(diff)
	}
	if s := x.ab.summary(); len(past.got) != 1 || s.InFlight != 1 || s.Forwarded != 2 ||
		x.ab.next(0) != vtime.Time(retry) {
		t.Errorf("%d frames went past, next at %d, %+v; want one that left and one that waits until there is room",
			len(past.got), x.ab.next(0), s)
	}
	past.room = 1
	if out := x.advance(t, ms(1)); out != nil || len(past.got) != 2 {
		t.Errorf("%v went through the qdisc and %d past it", out, len(past.got))
	}
}

func TestConfigRefusals(t *testing.T) {
	ok := Config{Clock: packetio.NewClock(0), A: &device{}, B: &device{}, Classifier: plain{}, Alter: flipLast}
	for name, change := range map[string]func(*Config){
		"Classifier": func(c *Config) { c.Classifier = nil },
		"foreign":    func(c *Config) { c.Foreign = "maybe" },
		"memory":     func(c *Config) { c.Memory = 5 },
		"injection":  func(c *Config) { c.Injections = []Injection{{From: "C", Frame: make([]byte, 60)}} },
		"at most":    func(c *Config) { c.Injections = make([]Injection, MaxInjections+1) },
	} {
		c := ok
		change(&c)
		if err := c.validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (Command{Op: SetPhase, Phase: "x"}).validate(); err == nil {
		t.Error("phase x was accepted")
	}
}

// The path of a packet needs no allocation, including the log.
func TestNoAllocationPerPacket(t *testing.T) {
	x := newBench(t, Config{
		Link: spec.Duplex{AB: spec.Link{Rate: 1e9, Delay: vtime.Millisecond, Queue: 100,
			Loss: spec.Loss{Model: spec.Bernoulli, P: 0.1}}},
	})
	x.ab.out = newOutlet(sink{})
	f := numbered(1, 1100)
	at := vtime.Time(0)
	turn := func() {
		at = at.Add(10 * vtime.Microsecond)
		x.ab.accept(&packetio.Packet{Data: f, Length: len(f), Time: at})
		if err := x.ab.depart(at); err != nil {
			t.Fatal(err)
		}
	}
	for range 5000 {
		turn()
	}
	if n := testing.AllocsPerRun(20000, turn); n > 0 {
		t.Errorf("%g allocations per packet", n)
	}
}

// sink accepts all frames.
type sink struct{}

func (sink) Send(frames [][]byte) (int, error) { return len(frames), nil }
