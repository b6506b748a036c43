package injector_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/wire"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/injector"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
	"github.com/rdma-gauntlet/gauntlet/netem/relay"
)

// role is the environment variable that selects the process of a test which the test binary plays.
const role = "INJECTOR_TEST_ROLE"

// TestMain runs the test binary as the relay, or as a process that holds an injector until it is killed, if role says
// so.
func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(role) {
	case "relay":
		err = relay.Main(os.Stdin, os.Stdout, func(config json.RawMessage) (relay.Classifier, relay.Alter, error) {
			c, err := wire.ReadClassifier(config)
			return c, wire.Alter, err
		})
	case "holder":
		err = hold()
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// namespaceOfLink is the file descriptor of the link's namespace in a process that plays a role.
const namespaceOfLink = 3

// hold attaches an injector and waits to be killed.
func hold() error {
	s := scenario.Default()
	if err := s.Line("drop A psn=+1 tx=1"); err != nil {
		return err
	}
	i, err := injector.Open(configOf(s, namespaceOfLink, nil))
	if err == nil {
		err = i.Attach()
	}
	if err == nil {
		fmt.Println("attached")
		_, err = io.Copy(io.Discard, os.Stdin)
	}
	return err
}

// configOf returns the configuration of an injector between the two ports of a link.
func configOf(s *scenario.Spec, namespace int, log io.Writer) injector.Config {
	return injector.Config{Namespace: namespace, Devices: [2]string{topology.PortB, topology.PortA}, Link: s.Link,
		Faults: s.Faults, Seeds: s.Seeds(), Dialect: wire.Dialect(s), Log: log}
}

// rig is a topology with a port at each end.
type rig struct {
	top   *topology.Topology
	clock *packetio.Clock
	start int64
	ends  [2]*packetio.Port
}

// newRig builds a rig with a bridge as link, or one that waits for a relay.
func newRig(tb testing.TB, bridge bool) *rig {
	tb.Helper()
	if err := topology.Privileged(); err != nil {
		tb.Skip(err)
	}
	top, err := topology.Open(topology.Options{Bridge: bridge})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { top.Close() })
	r := &rig{top: top, start: packetio.Monotonic()}
	r.clock = packetio.NewClock(r.start)
	for side, c := range top.Ends() {
		if r.ends[side], err = c.Open(r.clock, packetio.Options{}); err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { r.ends[side].Close() })
		var mute io.Closer // keeps the kernel from answering with port unreachable
		if err := c.In.Do(func() (err error) { mute, err = packetio.Mute(roce.Port); return err }); err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { mute.Close() })
	}
	return r
}

// port opens a device in a namespace.
func (r *rig) port(tb testing.TB, in *topology.Namespace, device string) *packetio.Port {
	tb.Helper()
	p, err := in.Open(device, r.clock, packetio.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { p.Close() })
	return p
}

// relay starts a relay with the losses and faults of a Spec.
func (r *rig) relay(tb testing.TB, s *scenario.Spec) {
	tb.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env, cmd.Stderr = append(os.Environ(), role+"=relay"), os.Stderr
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
	dialect, _ := json.Marshal(s.String())
	remote, err := relay.Attach(in, out,
		relay.Setup{Timebase: packetio.Timebase{Start: r.start}, A: topology.PortA, B: topology.PortB, Link: s.Link,
			Faults: s.Faults, SeedAB: s.Seeds()[0], SeedBA: s.Seeds()[1], Dialect: dialect})
	if err == nil {
		_, err = remote.Phase(relay.Command{Phase: relay.RunPhase})
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { in.Close(); _ = cmd.Wait() })
}

// inject attaches an injector with the losses and faults of a Spec.
func (r *rig) inject(tb testing.TB, s *scenario.Spec, log io.Writer) *injector.Injector {
	tb.Helper()
	if support := injector.Probe(); !support.OK {
		tb.Skip(support.Reason)
	}
	i, err := injector.Open(configOf(s, r.top.M.Fd(), log))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { i.Close() })
	if err := i.Attach(); err != nil {
		tb.Fatal(err)
	}
	return i
}

// cross sends frames from a side, some at a time, and returns the frames that the other side receives until no more
// come.
func (r *rig) cross(tb testing.TB, from trace.Side, frames [][]byte) (got [][]byte) {
	tb.Helper()
	const some = 8
	for len(frames) > 0 {
		n := min(some, len(frames))
		if sent, err := r.ends[from].Send(frames[:n]); sent != n || err != nil {
			tb.Fatalf("sent %d of %d: %v", sent, n, err)
		}
		frames = frames[n:]
		got = append(got, r.received(tb, from.Other(), vtime.Millisecond)...)
	}
	return append(got, r.received(tb, from.Other(), 300*vtime.Millisecond)...)
}

// received returns the frames that a side receives until none has come for the time still.
func (r *rig) received(tb testing.TB, side trace.Side, still vtime.Duration) (got [][]byte) {
	tb.Helper()
	waiter := packetio.NewWaiter(r.clock, r.ends[side].Fd())
	for until := r.clock.Now().Add(still); r.clock.Now() < until; {
		if err := waiter.Wait(until); err != nil {
			tb.Fatal(err)
		}
		batch, err := r.ends[side].Receive()
		if err != nil {
			tb.Fatal(err)
		}
		for _, f := range batch {
			got = append(got, append([]byte(nil), f.Data...))
			until = r.clock.Now().Add(still)
		}
	}
	return got
}

// patience is the time limit for actions that the kernel usually completes at once.
const patience = 5 * time.Second
