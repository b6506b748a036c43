package relay_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
	"github.com/rdma-gauntlet/gauntlet/netem/relay"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// etherType marks the test's own frames (local experimental use, IEEE 802).
const etherType = 0x88B5

// plain classifies frames by their number.
type plain struct{}

// Fingerprint returns the sum of the bytes, each times its position.
func (plain) Fingerprint(f []byte) (sum uint64) {
	for i, b := range f {
		sum += uint64(i+1) * uint64(b)
	}
	return sum
}

func (plain) Classify(_ fault.Side, f []byte) (fault.Identity, bool) {
	if len(f) < 26 || binary.BigEndian.Uint16(f[12:]) != etherType {
		return fault.Identity{}, false
	}
	n := binary.BigEndian.Uint32(f[14:])
	return fault.Identity{PSN: n & (1<<24 - 1), Offset: int(n), Type: "DATA", Class: fault.Data}, true
}

func untouched([]byte, *channel.Verdict) {}

func dialect(json.RawMessage) (relay.Classifier, relay.Alter, error) { return plain{}, untouched, nil }

// TestMain runs the test binary as the relay process if the environment says so.
func TestMain(m *testing.M) {
	if os.Getenv("RELAY_TEST_ROLE") == "relay" {
		if err := relay.Main(os.Stdin, os.Stdout, dialect); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// rig is a topology with a port at each end and a relay, or a direct cable, in between.
type rig struct {
	top   *topology.Topology
	start int64
	clock *packetio.Clock
	a, b  *packetio.Port
}

func newRig(tb testing.TB) *rig {
	tb.Helper()
	if err := topology.Privileged(); err != nil {
		tb.Skip(err)
	}
	top, err := topology.Open(topology.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { top.Close() })
	r := &rig{top: top, start: packetio.Monotonic()}
	r.clock = packetio.NewClock(r.start)
	r.a, r.b = r.port(tb, top.A, topology.DeviceA), r.port(tb, top.B, topology.DeviceB)
	return r
}

func (r *rig) port(tb testing.TB, in *topology.Namespace, device string) (p *packetio.Port) {
	tb.Helper()
	err := in.Do(func() (err error) {
		p, err = packetio.Open(device, r.clock, packetio.Options{Batch: relay.ReceiveMost})
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { p.Close() })
	return p
}

// process starts a relay process in M.
func (r *rig) process(tb testing.TB, setup relay.Setup) (*relay.Remote, *exec.Cmd) {
	tb.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "RELAY_TEST_ROLE=relay")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := r.top.StartIn(r.top.M, cmd); err != nil {
		tb.Fatal(err)
	}
	remote, err := relay.Attach(in, out, setup)
	if err != nil {
		tb.Fatal(err)
	}
	return remote, cmd
}

// frame is number n from A to B, stamped with a time.
func frame(n, size int, at vtime.Time) []byte {
	f := make([]byte, size)
	copy(f, topology.HostB().MAC)
	copy(f[6:], topology.HostA().MAC)
	binary.BigEndian.PutUint16(f[12:], etherType)
	stampFrame(f, n, at)
	return f
}

func stampFrame(f []byte, n int, at vtime.Time) {
	binary.BigEndian.PutUint32(f[14:], uint32(n))
	binary.BigEndian.PutUint64(f[18:], uint64(at))
}

func number(f []byte) int { return int(binary.BigEndian.Uint32(f[14:])) }

// arrival is a received frame.
type arrival struct {
	n     int
	delay vtime.Duration // from its stamp to the kernel's
}

// collect receives from p until the wanted number of frames has come or the limit is over.
func (r *rig) collect(tb testing.TB, p *packetio.Port, want int, limit time.Duration) (got []arrival) {
	waiter := packetio.NewWaiter(r.clock, p.Fd())
	until := r.clock.Now().Add(vtime.FromStd(limit))
	for len(got) < want && r.clock.Now() < until {
		if err := waiter.Wait(until); err != nil {
			tb.Error(err)
		}
		frames, err := p.Receive()
		if err != nil {
			tb.Error(err)
		}
		for _, f := range frames {
			got = append(got, arrival{number(f.Data), f.Time.Sub(vtime.Time(binary.BigEndian.Uint64(f.Data[18:])))})
		}
	}
	return got
}

// pace sends count frames from A, one every gap.
func (r *rig) pace(tb testing.TB, count, size int, gap vtime.Duration) {
	waiter := packetio.NewWaiter(r.clock)
	next := r.clock.Now()
	for n := range count {
		if err := waiter.Wait(next); err != nil {
			tb.Error(err)
		}
		if sent, err := r.a.Send([][]byte{frame(n, size, r.clock.Now())}); sent != 1 || err != nil {
			tb.Errorf("frame %d: sent %d, %v", n, sent, err)
		}
		next = next.Add(gap)
	}
}

// reordered counts frames that arrive after a later one.
func reordered(got []arrival) (n int) {
	highest := -1
	for _, a := range got {
		if a.n < highest {
			n++
		}
		highest = max(highest, a.n)
	}
	return n
}

// A relay process goes through its phases, loses the packets of its seed, logs every fate, and ends with its input.
func TestProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs in real time")
	}
	r := newRig(t)
	log := t.TempDir() + "/fates"
	link := spec.Link{Queue: 1000, Loss: spec.Loss{Model: spec.Bernoulli, P: 0.1}}
	remote, cmd := r.process(t, relay.Setup{
		Timebase: packetio.Timebase{Start: r.start}, A: topology.PortA, B: topology.PortB,
		Link: spec.Duplex{AB: link, BA: link}, SeedAB: 3, Log: log,
	})
	r.pace(t, 300, 100, 20*vtime.Microsecond)
	if got := r.collect(t, r.b, 300, time.Second); len(got) != 300 {
		t.Fatalf("%d of 300 probes arrived", len(got))
	}
	probe, err := remote.Phase(relay.Command{Phase: relay.RunPhase})
	if err != nil || probe.Phase != relay.ProbePhase || probe.AB.Forwarded != 300 {
		t.Fatalf("probe phase: %+v, %v", probe, err)
	}
	r.pace(t, 300, 100, 20*vtime.Microsecond)
	got := r.collect(t, r.b, 300, time.Second)
	run, err := remote.Stats()
	if err != nil || run.AB.Channel.Lost == 0 || int(run.AB.Channel.Lost)+len(got) != 300 {
		t.Errorf("%d arrived; run phase: %+v, %v", len(got), run, err)
	}
	if err := remote.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the process ended with %v", err)
	}
	compareLog(t, log, got)
}

// compareLog checks that the log of the run phase agrees with the arrivals.
func compareLog(t *testing.T, path string, got []arrival) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var delivered []int
	records := 0
	err = relay.ReadLog(f, func(rec relay.Record) error {
		if records++; records > 300 && rec.Fate == relay.Delivered {
			delivered = append(delivered, int(rec.PSN))
		}
		return nil
	})
	if err != nil || records != 600 {
		t.Errorf("%d records, %v; want 600", records, err)
	}
	var arrived []int
	for _, a := range got {
		arrived = append(arrived, a.n)
	}
	if !slices.Equal(delivered, arrived) {
		t.Errorf("the log delivers %v, the wire %v", delivered, arrived)
	}
}

// A wrong order is answered and has no effect; a dead process is an error and not a wait.
func TestRemoteErrors(t *testing.T) {
	r := newRig(t)
	link := spec.Duplex{AB: spec.Link{Queue: 1}, BA: spec.Link{Queue: 1}}
	remote, cmd := r.process(t, relay.Setup{Timebase: packetio.Timebase{Start: r.start},
		A: topology.PortA, B: topology.PortB, Link: link})
	if _, err := remote.Phase(relay.Command{Phase: "sideways"}); err == nil ||
		!strings.Contains(err.Error(), "sideways") {
		t.Errorf("phase sideways: %v", err)
	}
	if s, err := remote.Stats(); err != nil || s.Phase != relay.ProbePhase {
		t.Errorf("after a wrong order: %+v, %v", s, err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if _, err := remote.Stats(); err == nil {
		t.Error("a killed process answered")
	}
}

// An impossible setup is refused by the process, and Attach returns the reason.
func TestAttachReportsRefusal(t *testing.T) {
	down, up := io.Pipe()
	answers, replies := io.Pipe()
	go func() {
		relay.Main(down, replies, dialect)
		replies.Close()
	}()
	if _, err := relay.Attach(up, answers, relay.Setup{A: "nosuch0", B: "nosuch1"}); err == nil ||
		!strings.Contains(err.Error(), "nosuch0") {
		t.Errorf("attach: %v", err)
	}
}

func TestProcessRefusals(t *testing.T) {
	for name, stdin := range map[string]string{
		"no setup line":   "",
		"setup line":      "nonsense\n",
		"device nosuch0 ": `{"a":"nosuch0","b":"nosuch1"}` + "\n",
	} {
		in, feed := io.Pipe()
		go func() {
			io.WriteString(feed, stdin)
			feed.Close()
		}()
		if err := relay.Main(in, io.Discard, dialect); err == nil {
			t.Errorf("%q was accepted", name)
		}
	}
}

// exchange measures packets per second from one port to another with a bounded number in flight, so that none is lost
// and the slowest part determines the rate.
func (r *rig) exchange(tb testing.TB, from, to *packetio.Port, count, size int) (perSecond float64, misordered int) {
	const window, batch = 1024, 64
	frames := make([][]byte, batch)
	for i := range frames {
		frames[i] = frame(i, size, 0)
	}
	received := make(chan int, count)
	go func() {
		waiter := packetio.NewWaiter(r.clock, to.Fd())
		for next := 0; next < count; {
			_ = waiter.Wait(vtime.Never)
			got, err := to.Receive()
			if err != nil {
				tb.Error(err)
			}
			for _, f := range got {
				if number(f.Data) != next {
					misordered++
				}
				next++
			}
			received <- len(got)
		}
		close(received)
	}()
	start := r.clock.Now()
	for sent, done := 0, 0; done < count; {
		if sent < count && sent-done+batch <= window {
			for i := range frames {
				stampFrame(frames[i], sent+i, 0)
			}
			n, err := from.Send(frames)
			if n != batch || err != nil {
				tb.Fatalf("sent %d, %v", n, err)
			}
			sent += n
			continue
		}
		select {
		case n := <-received:
			done += n
		case <-time.After(5 * time.Second):
			tb.Fatalf("%d of %d frames arrived", done, count)
		}
	}
	return float64(count) / r.clock.Now().Sub(start).Seconds(), misordered
}

// cable connects A and B by a veth pair of their own, for comparison with the relay.
func (r *rig) cable(tb testing.TB) (x, y *packetio.Port) {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = "x0", topology.DefaultMTU
	veth := netlink.NewVeth(attrs)
	veth.PeerName, veth.PeerMTU, veth.PeerNamespace = "y0", topology.DefaultMTU, netlink.NsFd(r.top.B.Fd())
	if err := r.top.A.Links.LinkAdd(veth); err != nil {
		tb.Fatal(err)
	}
	for _, end := range []struct {
		in     *topology.Namespace
		device string
	}{{r.top.A, "x0"}, {r.top.B, "y0"}} {
		link, err := end.in.Links.LinkByName(end.device)
		if err != nil {
			tb.Fatal(err)
		}
		if err := end.in.Links.LinkSetUp(link); err != nil {
			tb.Fatal(err)
		}
	}
	time.Sleep(1200 * time.Millisecond) // until the carrier of the new pair is up, which may take a second
	return r.port(tb, r.top.A, "x0"), r.port(tb, r.top.B, "y0")
}

// BenchmarkRelay compares the relay with one veth pair, at 1 KiB of payload; the relay uses two pairs and a copy.
func BenchmarkRelay(b *testing.B) {
	r := newRig(b)
	x, y := r.cable(b)
	remote, cmd := r.process(b, relay.Setup{
		Timebase: packetio.Timebase{Start: r.start}, A: topology.PortA, B: topology.PortB,
		Link: spec.Duplex{AB: spec.Link{Queue: 1}, BA: spec.Link{Queue: 1}},
	})
	const count = 1 << 17
	var direct, relayed float64
	for range b.N {
		d, _ := r.exchange(b, x, y, count, 1066)
		v, misordered := r.exchange(b, r.a, r.b, count, 1066)
		direct, relayed = direct+d, relayed+v
		if misordered != 0 {
			b.Errorf("%d frames out of order", misordered)
		}
	}
	stats, err := remote.Stats()
	if err != nil || stats.AB.KernelDrops+stats.AB.Overflow != 0 {
		b.Errorf("stats %+v, %v", stats, err)
	}
	remote.Close()
	cmd.Wait()
	b.ReportMetric(direct/float64(b.N), "direct-pkt/s")
	b.ReportMetric(relayed/float64(b.N), "relay-pkt/s")
	b.ReportMetric(relayed/direct, "ratio")
}
