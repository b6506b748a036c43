package topology

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// Namespace is one network namespace of a Topology.
type Namespace struct {
	Label string          // "A", "M", "B" or "X"
	Links *netlink.Handle // netlink into the namespace; usable from any goroutine
	inner ns.NetNS
	own   bool // it is the namespace of this process
}

func newNamespace(label string) (*Namespace, error) {
	inner, err := ns.TempNetNS()
	if err != nil {
		return nil, fmt.Errorf("netns: create namespace %s: %w; %s", label, err, remedy)
	}
	return openSilent(label, inner)
}

// namespaceOf returns the network namespace of a process. The kernel keeps it until it is closed, even after the
// process has ended.
func namespaceOf(label string, pid int) (*Namespace, error) {
	inner, err := ns.GetNS(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return nil, fmt.Errorf("netns: open the namespace of process %d for %s: %w", pid, label, err)
	}
	return openSilent(label, inner)
}

func openSilent(label string, inner ns.NetNS) (*Namespace, error) {
	n, err := openNamespace(label, inner)
	if err != nil {
		return nil, err
	}
	if err := n.silence(); err != nil {
		return nil, errors.Join(err, n.close())
	}
	return n, nil
}

// ownNamespace returns the namespace of this process. It outlives the run: devices made in it have to be removed.
func ownNamespace(label string) (*Namespace, error) {
	inner, err := ns.GetCurrentNS()
	if err != nil {
		return nil, fmt.Errorf("netns: open the namespace of this process: %w", err)
	}
	n, err := openNamespace(label, inner)
	if err == nil {
		n.own = true
	}
	return n, err
}

func openNamespace(label string, inner ns.NetNS) (n *Namespace, err error) {
	n = &Namespace{Label: label, inner: inner}
	// Routes only: without a family the handle asks for IPsec and netfilter too, which a kernel may lack.
	if n.Links, err = netlink.NewHandleAt(netns.NsHandle(n.Fd()), unix.NETLINK_ROUTE); err != nil {
		return nil, errors.Join(fmt.Errorf("netns: netlink in namespace %s: %w", label, err), inner.Close())
	}
	return n, nil
}

// Fd returns the descriptor of the namespace, valid until the Topology is closed.
func (n *Namespace) Fd() int { return int(n.inner.Fd()) }

// Do runs f on a thread that is in the namespace. Sockets opened in f stay in it and serve any goroutine afterwards;
// goroutines started in f are not in it.
func (n *Namespace) Do(f func() error) error {
	return n.inner.Do(func(ns.NetNS) error { return f() })
}

// silence switches IPv6 off before any device exists: neighbour discovery and multicast reports would be frames that no
// endpoint sent.
func (n *Namespace) silence() error {
	return n.Do(func() error {
		for _, scope := range []string{"all", "default"} {
			path := "/proc/sys/net/ipv6/conf/" + scope + "/disable_ipv6"
			err := os.WriteFile(path, []byte("1"), 0o644)
			if err != nil && !errors.Is(err, os.ErrNotExist) { // a kernel without IPv6 is silent already
				return fmt.Errorf("netns: switch IPv6 off in namespace %s: %w; mount /proc/sys writable", n.Label, err)
			}
		}
		return nil
	})
}

// Open opens a device of the namespace; any goroutine may use the port.
func (n *Namespace) Open(device string, clock *packetio.Clock, o packetio.Options) (port *packetio.Port, err error) {
	err = n.Do(func() (err error) {
		port, err = packetio.Open(device, clock, o)
		return err
	})
	return port, err
}

// Blackhole makes the kernel of the namespace drop packets to an address. A second call is not an error.
func (n *Namespace) Blackhole(to net.IP) error {
	if err := blackhole(n.Links.RouteAdd, to); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}

// Blackhole does so in the namespace of this process, whose privilege may not be enough: then the error is EPERM.
func Blackhole(to net.IP) error { return blackhole(netlink.RouteAdd, to) }

func blackhole(add func(*netlink.Route) error, to net.IP) error {
	route := &netlink.Route{Dst: &net.IPNet{IP: to, Mask: net.CIDRMask(32, 32)}, Type: unix.RTN_BLACKHOLE}
	if err := add(route); err != nil {
		return fmt.Errorf("netns: blackhole route to %s: %w", route.Dst, err)
	}
	return nil
}

func (n *Namespace) close() error {
	n.Links.Close()
	return n.inner.Close()
}
