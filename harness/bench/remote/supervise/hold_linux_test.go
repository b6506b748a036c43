package supervise

import (
	"errors"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote/line"
)

// device makes a network device in a namespace of the test's own, and a folder for its journal.
func device(t *testing.T) netlink.Link {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making a network device needs root")
	}
	runtime.LockOSThread() // and never unlocked: the thread, and its namespace, end with the test
	must(t, unix.Unshare(unix.CLONE_NEWNET))
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "test0"
	must(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "test1"}))
	link, err := netlink.LinkByName("test0")
	must(t, err)
	must(t, netlink.LinkSetUp(link))
	journals, gidPatience = t.TempDir(), 0
	t.Cleanup(func() { journals, gidPatience = "/run", 5*time.Second })
	return link
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var wanted = line.Hold{Place: line.Place{Device: "none0", Port: 1, Network: "test0"}, Address: "10.77.0.1/24",
	Peer: "10.77.0.2", PeerMAC: "02:00:00:77:00:02"}

// state is the addresses of the device and how its peer is reached.
func state(t *testing.T, h *held) string {
	t.Helper()
	has, err := h.addresses()
	must(t, err)
	var list []string
	for _, p := range has {
		list = append(list, p.String())
	}
	mac, err := h.neighbour(mustAddr(t, wanted.Peer))
	must(t, err)
	return strings.Join(append(list, mac), " ")
}

// A device gets what a run needs, and is then as it was: also when another process has to undo it.
func TestHoldIsUndone(t *testing.T) {
	link := device(t)
	h, err := take("test0")
	must(t, err)
	must(t, netlink.NeighSet(h.entry(mustAddr(t, wanted.Peer), []byte{2, 0, 0, 0, 0, 9})))
	before := state(t, h)
	var missing error
	if _, missing = h.configure(&wanted); missing == nil || !strings.Contains(missing.Error(), "none0") {
		t.Errorf("%v; want that there is no such device", missing)
	}
	if got, want := state(t, h), "10.77.0.1/24 02:00:00:77:00:02"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := take("test0"); err == nil || !strings.Contains(err.Error(), "test0: another run uses it") {
		t.Errorf("taken twice: %v", err)
	}
	must(t, h.journal.file.Close()) // it was killed
	next, err := take("test0")
	must(t, err)
	if got := state(t, next); got != before {
		t.Errorf("%q after another took it, want %q", got, before)
	}
	must(t, next.giveBack())
	if left, err := os.ReadDir(journals); len(left) != 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
	_ = link
}

// What was there before stays, and what another has taken away meanwhile is undone.
func TestHoldLeavesWhatWasThere(t *testing.T) {
	link := device(t)
	own, err := netlink.ParseAddr("10.77.0.1/24")
	must(t, err)
	must(t, netlink.AddrAdd(link, own))
	h, err := take("test0")
	must(t, err)
	_, _ = h.configure(&wanted) // there is no RDMA device
	must(t, h.giveBack())
	h, err = take("test0")
	must(t, err)
	if got := state(t, h); got != "10.77.0.1/24 " {
		t.Errorf("%q", got)
	}
	must(t, netlink.AddrDel(link, own))
	_, _ = h.configure(&wanted)
	must(t, netlink.AddrDel(link, own))
	must(t, h.giveBack())
}

// A device that has the peer's address would answer itself.
func TestHoldRefuses(t *testing.T) {
	link := device(t)
	peer, err := netlink.ParseAddr("10.77.0.2/24")
	must(t, err)
	must(t, netlink.AddrAdd(link, peer))
	s := &supervisor{}
	if _, err := s.hold(wanted); err == nil || !strings.Contains(err.Error(),
		"10.77.0.2, which is the peer's in this run; ip addr del 10.77.0.2/24 dev test0") {
		t.Errorf("%v", err)
	}
	none := wanted
	none.Network = "test9"
	if _, err := s.hold(none); err == nil || !errors.As(err, &netlink.LinkNotFoundError{}) {
		t.Errorf("%v", err)
	}
}

func mustAddr(t *testing.T, text string) netip.Addr {
	t.Helper()
	a, err := netip.ParseAddr(text)
	must(t, err)
	return a
}
