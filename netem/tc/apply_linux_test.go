package tc

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

func TestParseQdiscMessage(t *testing.T) {
	stats := binary.NativeEndian.AppendUint64(nil, 1<<33)
	stats = append(stats, words(100, 7, 0, 0, 0, 12, 13)...)
	message := nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated("netem")).Serialize()
	message = append(message, nl.NewRtAttr(nl.TCA_OPTIONS, recorded[0].want.encode()).Serialize()...)
	message = append(message, nl.NewRtAttr(nl.TCA_STATS, stats).Serialize()...)
	n, s, found, err := parse(message)
	if err != nil || !found {
		t.Fatal(found, err)
	}
	if diff := cmp.Diff(recorded[0].want, n); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Stats{Bytes: 1 << 33, Packets: 100, Drops: 7, Waiting: 12}, s); diff != "" {
		t.Error(diff)
	}
	if _, _, found, err := parse(
		nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated("pfifo")).Serialize()); found || err != nil {
		t.Error("another qdisc counted as netem", err)
	}
}

// scratch returns the descriptor of a namespace whose loopback device accepts qdiscs.
func scratch(t *testing.T) int {
	t.Helper()
	n, err := ns.TempNetNS()
	if err != nil {
		t.Skipf("no network namespace: %v; run as root", err)
	}
	t.Cleanup(func() { n.Close() })
	return int(n.Fd())
}

// A kernel without netem is refused with a clear reason; with netem every setting reads back.
func TestApplyOnThisKernel(t *testing.T) {
	fd := scratch(t)
	support := Probe()
	t.Logf("kernel %s: netem %v, seed %v %s", support.Kernel, support.Netem, support.Seed, support.Reason)
	link := linkOf(spec.Loss{Model: spec.Gilbert, P: 0.01, R: 0.3, K: 1})
	applied, err := Apply(fd, "lo", link, Options{Packet: 1106})
	if !support.Netem {
		if !errors.Is(err, ErrUnsupported) || support.Reason == "" || !strings.Contains(err.Error(), "no sch_netem") {
			t.Errorf("without sch_netem: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatalf("%v\n%+v", err, applied)
	}
	if _, s, err := Read(fd, "lo"); err != nil || s.Packets != 0 {
		t.Errorf("fresh counters %+v, %v", s, err)
	}
	if err := Remove(fd, "lo"); err != nil {
		t.Error(err)
	}
}

// Every kind of setting reads back from the kernel's netem, in turn on the same device.
func TestApplyReadsBack(t *testing.T) {
	support := Probe()
	if !support.Netem {
		t.Skipf("this kernel has no netem, so nothing is read back here: %s", support.Reason)
	}
	fd := scratch(t)
	seed := uint64(42)
	for _, l := range []spec.Link{
		linkOf(spec.Loss{}),
		linkOf(spec.Loss{Model: spec.Bernoulli, P: 1e-4}),
		linkOf(spec.Loss{Model: spec.Gilbert, P: 0.01, R: 0.3, H: 0.25, K: 0.999}),
		linkOf(spec.Loss{Model: spec.Markov4, P13: 0.01, P31: 0.2, P32: 0.3, P14: 0.02, P23: 0.05}),
		{Rate: 100e9, Delay: 100*vtime.Nanosecond + 500, Queue: 7},
		{Delay: 5 * vtime.Millisecond, Jitter: vtime.Millisecond, Queue: 10, Reorder: 0.1,
			Duplicate: 0.01, Corrupt: 1e-3},
	} {
		o := Options{Packet: 1106}
		if support.Seed {
			o.Seed = &seed
		}
		if a, err := Apply(fd, "lo", l, o); err != nil {
			t.Errorf("%s %s: %v\n%+v", l, l.Loss, err, a.Values)
		}
	}
}

func TestRequestErrors(t *testing.T) {
	fd := scratch(t)
	if _, _, err := Read(fd, "lo"); err == nil || !strings.Contains(err.Error(), "no netem qdisc") {
		t.Errorf("read without netem: %v", err)
	}
	if err := Remove(fd, "lo"); err != nil {
		t.Errorf("remove nothing: %v", err)
	}
	if err := Remove(fd, "nosuch0"); err == nil || !strings.Contains(err.Error(), "nosuch0") {
		t.Errorf("unknown device: %v", err)
	}
	if err := add(fd, "lo", Netem{}); err != nil && !errors.Is(err, ErrUnsupported) && !errors.Is(err, unix.EINVAL) {
		t.Errorf("add: %v", err)
	}
}
