package netns

import (
	"errors"
	"fmt"
	"os"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// Namespace is one network namespace of a Topology.
type Namespace struct {
	Label string          // "A", "M" or "B"
	Links *netlink.Handle // netlink into the namespace; usable from any goroutine
	inner ns.NetNS
}

func newNamespace(label string) (*Namespace, error) {
	inner, err := ns.TempNetNS()
	if err != nil {
		return nil, fmt.Errorf("netns: create namespace %s: %w; %s", label, err, remedy)
	}
	n := &Namespace{Label: label, inner: inner}
	if n.Links, err = netlink.NewHandleAt(netns.NsHandle(n.Fd())); err != nil {
		return nil, errors.Join(fmt.Errorf("netns: netlink in namespace %s: %w", label, err), inner.Close())
	}
	if err := n.silence(); err != nil {
		return nil, errors.Join(err, n.close())
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

// silence switches IPv6 off before any device exists: neighbour discovery and multicast reports would be frames that
// nobody sent.
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

func (n *Namespace) close() error {
	n.Links.Close()
	return n.inner.Close()
}
