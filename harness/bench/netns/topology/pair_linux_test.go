package topology

import (
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// TestBothEndsInOneNamespace: a frame sent through the device of one end arrives over the link at the device of the
// other, and the namespace is left as it was.
func TestBothEndsInOneNamespace(t *testing.T) {
	apart(t)
	top, err := Open(Options{Own: [2]bool{true, true}, Bridge: true})
	must(t, err)
	t.Cleanup(func() { must(t, top.Close()) })
	to := &net.UDPAddr{IP: HostB().IP, Port: 4791}
	in, err := net.ListenUDP("udp4", to)
	must(t, err)
	defer in.Close()
	through := net.Dialer{LocalAddr: &net.UDPAddr{IP: HostA().IP}, Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		_ = c.Control(func(fd uintptr) { err = unix.BindToDevice(int(fd), DeviceA) })
		return err
	}}
	out, err := through.DialContext(t.Context(), "udp4", to.String())
	must(t, err)
	defer out.Close()
	_, err = out.Write([]byte("over the link"))
	must(t, err)
	must(t, in.SetReadDeadline(time.Now().Add(5*time.Second)))
	buf := make([]byte, 64)
	n, _, err := in.ReadFromUDP(buf)
	if err != nil || string(buf[:n]) != "over the link" {
		t.Fatalf("%q arrived, %v", buf[:n], err)
	}
	port, err := top.M.Links.LinkByName(PortA)
	must(t, err)
	if got := port.Attrs().Statistics.RxPackets; got == 0 {
		t.Errorf("%d packets crossed the link; want the one that arrived", got)
	}
	must(t, top.Close())
	for _, device := range []string{DeviceA, DeviceB} {
		if _, err := netlink.LinkByName(device); err == nil {
			t.Errorf("%s was left behind", device)
		}
	}
}
