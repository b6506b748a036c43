//go:build netns

package injector_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/wire"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/injector"
)

// scripts are faults on a lossy link that injector and relay must treat alike.
var scripts = map[string][]string{
	"drops": {"drop A psn=+7 tx=1", "drop A psn=+7 tx=2", "drop A qp=1 psn=+20..+29 tx=1",
		"drop B type=ACK nth=3 count=4",
		"drop A type=WRITE_LAST nth=2"},
	"copies and marks": {"dup A psn=+3 copies=2", "dup B type=ACK nth=5", "mark A count=40", "mark A qp=2 psn=+9 tx=2",
		"drop A psn=+11"},
	"losses": {"loss A>B gemodel p=0.02 r=0.3", "loss B>A random p=5%", "drop A qp=0 psn=+2..+4 tx=1"},
	"bursts": {"loss A>B burst p=0.01 len=5 h=0.8", "mark A type=DATA count=*"},
}

// traffic returns the frames that a side of the run sends: three QPs, and every packet from the tenth on twice, as
// after a loss. B sends ACKs.
func traffic(s *scenario.Spec, from trace.Side) (frames [][]byte) {
	for n := range 1200 {
		psn, qp := n/3, n%3
		if psn%20 >= 10 {
			psn -= 10
		}
		p := roce.Packet{}
		p.Opcode, p.PKey = roce.WriteMiddle, roce.DefaultPKey
		switch {
		case from == trace.B:
			p.Opcode, p.AETH.Syndrome, p.AETH.MSN = roce.Acknowledge, roce.SyndromeACK, 1
		case psn%5 == 4:
			p.Opcode = roce.WriteLast
		}
		if from == trace.A {
			p.Payload, p.Len = bytes.Repeat([]byte{byte(psn)}, 256), 256
		}
		p.DestQP = s.Ends(0)[from.Other()].QPN + uint32(qp)
		p.PSN = s.QP[trace.A].SendPSN.Add(psn)
		var f roce.Frame
		drive.Frame(&f, from, qp, &p)
		frames = append(frames, f.AppendTo(nil))
	}
	return frames
}

// predict returns the frames that arrive according to package channel, which the simulator uses too.
func (m *model) predict(from trace.Side, frames [][]byte) (got [][]byte) {
	for _, f := range frames {
		v := m.judge(from, f)
		if v.Fate == channel.Lost {
			continue
		}
		f = bytes.Clone(f)
		wire.Alter(f, v)
		for range 1 + v.Copies {
			got = append(got, f)
		}
	}
	return got
}

// Injector, relay and channel treat every packet alike: the same packets arrive, with the same bytes, in the same
// order.
func TestFatesAreThoseOfTheRelay(t *testing.T) {
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			s := scenario.Default()
			for _, l := range append([]string{"qp count=3", "seed 11", "load write msg=1KiB count=1"}, script...) {
				if err := s.Line(l); err != nil {
					t.Fatal(err)
				}
			}
			var log bytes.Buffer
			kernel, user, m := newRig(t, true), newRig(t, false), newModel(t, s)
			i := kernel.inject(t, s, &log)
			user.relay(t, s)
			idle := true
			for _, side := range []trace.Side{trace.A, trace.B} {
				frames := traffic(s, side)
				want := m.predict(side, frames)
				idle = idle && slices.EqualFunc(want, frames, bytes.Equal)
				same(t, "injector", side, kernel.cross(t, side, frames), want)
				same(t, "relay", side, user.cross(t, side, frames), want)
			}
			if idle {
				t.Error("nothing happens to what the sides send")
			}
			if err := i.Detach(); err != nil {
				t.Fatal(err)
			}
			accounts(t, i, &log, m)
		})
	}
}

// same compares the arrivals packet by packet.
func same(t *testing.T, who string, from trace.Side, got, want [][]byte) {
	t.Helper()
	for n := range min(len(got), len(want)) {
		if !bytes.Equal(got[n], want[n]) {
			t.Fatalf("%s, from %s: packet %d that arrives is\n%x, want\n%x", who, from, n, got[n], want[n])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s, from %s: %d packets arrive, want %d", who, from, len(got), len(want))
	}
}

// accounts compares counters and log of the injector with package channel.
func accounts(t *testing.T, i *injector.Injector, log *bytes.Buffer, m *model) {
	t.Helper()
	counters := compareCounters(t, i, m)
	var logged [2]injector.Counters
	for side, c := range counters { // the log has no losses that were drawn
		logged[side] = injector.Counters{Drawn: c.Drawn, Asked: c.Asked, ByFault: make([]uint64, len(c.ByFault))}
	}
	err := injector.ReadLog(log, func(r *injector.Record) error {
		l := &logged[0]
		if r.From == "B" {
			l = &logged[1]
		}
		if r.Number != l.Frames {
			return fmt.Errorf("frame %d of %s comes in place of %d", r.Number, r.From, l.Frames)
		}
		l.Frames++
		l.Copies += uint64(r.Copies)
		if r.Marked {
			l.Marked++
		}
		switch r.Cause.Kind {
		case channel.Loss:
			l.Lost++
		case channel.DroppedByFault:
			l.Dropped++
		}
		if r.Cause.Scripted() {
			l.ByFault[r.Cause.Fault]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(counters, logged); d != "" {
		t.Errorf("-counted +logged\n%s", d)
	}
}

// An injector whose process is killed leaves nothing on the devices or in the kernel.
func TestKilledInjectorLeavesNothing(t *testing.T) {
	r := newRig(t, true)
	if support := injector.Probe(); !support.OK {
		t.Skip(support.Reason)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env, cmd.Stderr = append(os.Environ(), role+"=holder"), os.Stderr
	cmd.ExtraFiles = []*os.File{os.NewFile(uintptr(r.top.M.Fd()), "namespace")}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if said, err := bufio.NewReader(out).ReadString('\n'); said != "attached\n" {
		t.Fatalf("%q %v", said, err)
	}
	before := attached(t, r)
	if left := loaded(t, before); len(before) != 2 || left != 2 {
		t.Fatalf("%d programs on the ports, %d of them in the kernel, want 2", len(before), left)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for until := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		at, left := len(attached(t, r)), loaded(t, before)
		if at == 0 && left == 0 {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%d programs are still on the ports, %d of %d in the kernel", at, left, len(before))
		}
	}
}

// attached lists the programs at the egress of the ports.
func attached(t *testing.T, r *rig) (list []ebpf.ProgramID) {
	t.Helper()
	err := r.top.M.Do(func() error {
		for _, port := range []string{topology.PortA, topology.PortB} {
			l, err := r.top.M.Links.LinkByName(port)
			if err != nil {
				return err
			}
			found, err := link.QueryPrograms(link.QueryOptions{Target: l.Attrs().Index, Attach: ebpf.AttachTCXEgress})
			if err != nil {
				return err
			}
			for _, p := range found.Programs {
				list = append(list, p.ID)
			}
		}
		return nil
	})
	if errors.Is(err, ebpf.ErrNotSupported) {
		t.Skipf("this kernel lists no programs of a device: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// loaded counts the programs of a list that are in the kernel.
func loaded(t *testing.T, list []ebpf.ProgramID) (n int) {
	t.Helper()
	for _, id := range list {
		p, err := ebpf.NewProgramFromID(id)
		switch {
		case err == nil:
			n++
			_ = p.Close()
		case !errors.Is(err, os.ErrNotExist):
			t.Fatal(err)
		}
	}
	return n
}
