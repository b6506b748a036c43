package link

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/netem/injector"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// injectorOn opens the injector of a Spec on the loopback device of a namespace.
func injectorOn(t *testing.T, in ns.NetNS, text string) *injectorStage {
	t.Helper()
	sp := mustSpec(t, text)
	_, rest := lossless(sp.Link)
	if !bare(rest) {
		t.Fatalf("%+v is not the injector's alone", rest)
	}
	site := &Site{Spec: sp, Namespace: int(in.Fd()), Ports: [2]string{"lo", "lo"}, Fact: func(_, _ string) {},
		Scratch: func(what string) (*os.File, string, error) {
			f, err := os.Create(filepath.Join(t.TempDir(), what))
			return f, "", err
		}}
	st := &injectorStage{site: site, hop: plan.RouteOf(sp, false).WAN(), does: sp.Link, every: true}
	if err := st.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.close(); st.log.Close() })
	return st
}

// scratch returns a namespace with a loopback device that is up, and skips the test where there is no injector.
func scratch(t *testing.T) ns.NetNS {
	t.Helper()
	if support := injector.Probe(); !support.OK {
		t.Skip(support.Reason)
	}
	in, err := ns.TempNetNS()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	err = in.Do(func(ns.NetNS) error {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		return netlink.LinkSetUp(lo)
	})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// A frame that the injector cannot parse passes. It is no loss of the bench, and the certificate counts it separately.
func TestUnreadFrameIsNotLost(t *testing.T) {
	in := scratch(t)
	st := injectorOn(t, in, "load write msg=1KiB count=1\ndrop A psn=+1\n")
	if err := st.impairAll(0); err != nil {
		t.Fatal(err)
	}
	err := in.Do(func(ns.NetNS) error {
		p, err := packetio.Open("lo", packetio.NewClock(0), packetio.Options{})
		if err != nil {
			return err
		}
		defer p.Close()
		mac := drive.MAC(trace.A)
		tagged := append(append(append([]byte(nil), mac[:]...), mac[:]...), 0x81, 0x00) // VLAN
		_, err = p.Send([][]byte{append(tagged, make([]byte, 60)...)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := st.report()
	if err != nil || r.Overflow != 0 {
		t.Errorf("overflow %d, %v", r.Overflow, err)
	}
	zero, one := uint64(0), uint64(1)
	want := []Tally{{What: "draws of losses", Done: &zero}, {What: "frames that no fault can pick", Done: &one},
		{What: "frames", Decided: 1}, {What: "drop[0]", Cause: "drop[0]"}}
	if d := cmp.Diff(want, r.Tallies[trace.A]); d != "" {
		t.Error(d)
	}
}

// When the losses of a run cannot be drawn again, the report is an error.
func TestReportWithoutTape(t *testing.T) {
	tape := filepath.Join(t.TempDir(), "x.tape")
	const text = "gauntlet-tape 1\nkey index\nseed 7\nlength 9\nlost 3\nend 1\n"
	if err := os.WriteFile(tape, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	st := injectorOn(t, scratch(t), "load write msg=1KiB count=1\ndrop A psn=+1\nloss tape file="+tape+"\n")
	if _, err := st.report(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(tape); err != nil {
		t.Fatal(err)
	}
	if _, err := st.report(); err == nil {
		t.Error("there is a report")
	}
}
