package topology

import (
	"net"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// apart moves the test's thread into a new namespace, which represents the machine's.
func apart(t *testing.T) {
	t.Helper()
	if err := Privileged(); err != nil {
		t.Skip(err)
	}
	runtime.LockOSThread() // never unlocked, so that the thread ends with the test
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skip("no namespace for the test: ", err)
	}
}

// TestOwnNamespaceIsLeftAsItWas: an end in the namespace of the process removes its device at the end.
func TestOwnNamespaceIsLeftAsItWas(t *testing.T) {
	apart(t)
	for range 2 { // the second finds nothing of the first
		top, err := Open(Options{Own: [2]bool{false, true}})
		must(t, err)
		if _, err := netlink.LinkByName(DeviceB); err != nil {
			t.Errorf("%s is not in this namespace: %v", DeviceB, err)
		}
		if _, err := netlink.LinkByName(DeviceA); err == nil {
			t.Errorf("%s is in this namespace", DeviceA)
		}
		must(t, top.Close())
		if _, err := netlink.LinkByName(DeviceB); err == nil {
			t.Errorf("%s was left behind", DeviceB)
		}
	}
}

// TestSomebodyElsesDeviceStays: a foreign device with the same name is not touched, and the topology is refused.
func TestSomebodyElsesDeviceStays(t *testing.T) {
	apart(t)
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.HardwareAddr = DeviceB, net.HardwareAddr{2, 9, 9, 9, 9, 9}
	veth := netlink.NewVeth(attrs)
	veth.PeerName = "peer"
	must(t, netlink.LinkAdd(veth))
	if top, err := Open(Options{Own: [2]bool{false, true}}); err == nil {
		_ = top.Close()
		t.Error("a topology was built over somebody else's device")
	}
	if _, err := netlink.LinkByName(DeviceB); err != nil {
		t.Errorf("the device is gone: %v", err)
	}
}
