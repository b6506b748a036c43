package testbeds

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote/supervise"
	"github.com/rdma-gauntlet/gauntlet/harness/testbed"
)

// TestMain makes the test's own binary the one that is sent to a far host.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "process" && os.Args[2] == "supervise" {
		if err := supervise.Main(os.Stdin, os.Stdout, os.Args[3]); err != nil {
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A cable is proved by frames both ways; one in another port, and one whose far end is down, are told. The hosts are
// this machine, by a script in place of ssh, in a namespace with two cables.
func TestCables(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs in real time")
	}
	if os.Geteuid() != 0 {
		t.Skip("making network devices needs root")
	}
	runtime.LockOSThread() // and never unlocked: the thread, and its namespace, end with the test
	must(t, unix.Unshare(unix.CLONE_NEWNET))
	lab := &testbed.File{}
	for _, n := range []string{"1", "2"} {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU = "far"+n, 9000
		must(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "near" + n, PeerMTU: 9000}))
		for _, end := range []string{"far", "near"} {
			link, err := netlink.LinkByName(end + n)
			must(t, err)
			must(t, netlink.LinkSetUp(link))
		}
		lab.Hosts = append(lab.Hosts,
			testbed.Host{Name: "dut" + n, Device: "none0", Port: 1, Interface: "far" + n, Cable: "near" + n})
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	must(t, os.WriteFile(filepath.Join(dir, "ssh"),
		[]byte("#!/bin/sh\nfor last; do :; done\nexec sh -c \"$last\"\n"), 0o755))
	self, err := os.Executable()
	must(t, err)
	far, err := remote.Connect(context.Background(), remote.Options{Host: lab.Hosts[0], Self: self,
		SSH: filepath.Join(dir, "ssh")})
	must(t, err)
	defer far.Close()
	check := func(state, want string) {
		t.Helper()
		if got := cable(far, lab); got.State != state || !strings.Contains(got.Found, want) {
			t.Errorf("%+v; want %s, %q", got, state, want)
		}
	}
	check(ok, "frames pass both ways between far1 and near1 here, MTU 9000")
	far.At.Cable, lab.Hosts[0].Cable, lab.Hosts[1].Cable = "near2", "near2", "near1"
	check(missing, "far1 of dut1 is at the other end of near1, and not of near2")
	far.At.Cable = "near9"
	check(missing, "this machine has no near9")
	lab.Hosts = lab.Hosts[:1]
	far.At.Cable = "near2"
	check(missing, "no frame of far1 of dut1 arrived here at near2")
	down, err := netlink.LinkByName("near1")
	must(t, err)
	must(t, netlink.LinkSetDown(down))
	far.At.Cable = "near1"
	check(missing, "near1 of this machine is down")
}
