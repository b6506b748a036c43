package supervise

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote/line"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
)

// gidPatience is the time within which the GID of a new address must appear.
var gidPatience = 5 * time.Second

// held is a network device of which this supervisor has exclusive use, and the journal of changes to it.
type held struct {
	link    netlink.Link
	journal *journal
}

// hold takes exclusive use of a network device, and sets the address of a run and an entry for the peer. Changes that
// an earlier supervisor left are undone first.
func (s *supervisor) hold(a line.Hold) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.held != nil:
		return nil, fmt.Errorf("supervise: %s is held already", a.Network)
	case s.closed:
		return nil, errors.New("supervise: the channel is over")
	}
	h, err := take(a.Network)
	if err != nil {
		return nil, err
	}
	result, err := h.configure(&a)
	if err != nil {
		return nil, errors.Join(err, h.giveBack())
	}
	s.held = h
	return result, nil
}

// release undoes hold.
func (s *supervisor) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held
	s.held = nil
	if h == nil {
		return nil
	}
	return h.giveBack()
}

// take opens the journal of a network device, and undoes the changes in it.
func take(network string) (*held, error) {
	link, err := netlink.LinkByName(network)
	if err != nil {
		return nil, fmt.Errorf("supervise: network device %s: %w", network, err)
	}
	j, err := openJournal(network)
	if err != nil {
		return nil, err
	}
	h := &held{link: link, journal: j}
	if err := h.undo(); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return h, nil
}

// configure makes the settings of a run. Each change is in the journal before it is made. The address is set last, and
// so removed first: when a device loses its last address, the kernel removes its neighbours.
func (h *held) configure(a *line.Hold) (*line.Held, error) {
	own, err := netip.ParsePrefix(a.Address)
	peer, peerErr := netip.ParseAddr(a.Peer)
	mac, macErr := net.ParseMAC(a.PeerMAC)
	if err = cmp.Or(err, peerErr, macErr); err != nil {
		return nil, fmt.Errorf("supervise: %w", err)
	}
	network := h.link.Attrs().Name
	has, err := h.addresses()
	if err != nil {
		return nil, err
	}
	if err := absent(peer); err != nil {
		return nil, err
	}
	before, err := h.neighbour(peer)
	if err != nil {
		return nil, err
	}
	if before != mac.String() {
		e := &entry{Kind: "neighbour", Address: peer.String(), Before: before}
		if err := h.change(e, func() error { return netlink.NeighSet(h.entry(peer, mac)) }); err != nil {
			return nil, fmt.Errorf("supervise: neighbour %s on %s: %w", peer, network, err)
		}
	}
	if !contains(has, own.Addr()) {
		if err := h.change(&entry{Kind: "address", Address: own.String()}, func() error {
			return netlink.AddrAdd(h.link, address(own))
		}); err != nil {
			return nil, fmt.Errorf("supervise: address %s on %s: %w", own, network, err)
		}
	}
	gid, err := station.AwaitGID(os.DirFS("/sys"), a.Device, a.Port, own.Addr(), gidPatience)
	return &line.Held{GID: gid, MAC: h.link.Attrs().HardwareAddr.String()}, err
}

// change records a change in the journal and makes it.
func (h *held) change(e *entry, do func() error) error {
	if err := h.journal.note(e); err != nil {
		return err
	}
	return do()
}

// giveBack undoes all changes and ends the exclusive use of the device.
func (h *held) giveBack() error { return errors.Join(h.undo(), h.journal.close()) }

// undo undoes the changes in the journal, the last first. A change that is already undone is not an error.
func (h *held) undo() error {
	list, err := h.journal.entries()
	if err != nil {
		return err
	}
	var failed []error
	for i := len(list) - 1; i >= 0; i-- {
		if err := h.revert(&list[i]); err != nil {
			failed = append(failed, fmt.Errorf("supervise: undo %s %s on %s: %w", list[i].Kind, list[i].Address,
				h.link.Attrs().Name, err))
		}
	}
	if len(failed) > 0 {
		return errors.Join(failed...)
	}
	return h.journal.clear()
}

// revert undoes one change.
func (h *held) revert(e *entry) error {
	switch e.Kind {
	case "address":
		p, err := netip.ParsePrefix(e.Address)
		if err == nil {
			err = netlink.AddrDel(h.link, address(p))
		}
		return unless(err, unix.EADDRNOTAVAIL)
	case "neighbour":
		a, err := netip.ParseAddr(e.Address)
		if err != nil {
			return err
		}
		if mac, err := net.ParseMAC(e.Before); err == nil {
			return netlink.NeighSet(h.entry(a, mac))
		}
		return unless(netlink.NeighDel(h.entry(a, nil)), unix.ENOENT)
	}
	return fmt.Errorf("unknown; it is of another version")
}

func unless(err, gone error) error {
	if errors.Is(err, gone) {
		return nil
	}
	return err
}

func address(p netip.Prefix) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}}
}

// absent returns an error when this host has the address of the peer: its kernel would not send to the cable.
func absent(peer netip.Addr) error {
	all, err := netlink.AddrList(nil, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("supervise: addresses: %w", err)
	}
	for _, a := range all {
		if ip, ok := netip.AddrFromSlice(a.IP); ok && ip.Unmap() == peer {
			link, err := netlink.LinkByIndex(a.LinkIndex)
			if err != nil {
				return fmt.Errorf("supervise: addresses: %w", err)
			}
			name := link.Attrs().Name
			return fmt.Errorf("supervise: %s has %s, which is the peer's in this run; ip addr del %s dev %s, or, of "+
				"two devices, put one into another host", name, peer, a.IPNet, name)
		}
	}
	return nil
}

func contains(list []netip.Prefix, a netip.Addr) bool {
	for _, p := range list {
		if p.Addr() == a {
			return true
		}
	}
	return false
}

// addresses returns the addresses of the device.
func (h *held) addresses() (list []netip.Prefix, err error) {
	all, err := netlink.AddrList(h.link, netlink.FAMILY_V4)
	if err != nil {
		return nil, fmt.Errorf("supervise: addresses of %s: %w", h.link.Attrs().Name, err)
	}
	for _, a := range all {
		if ip, ok := netip.AddrFromSlice(a.IP); ok {
			ones, _ := a.Mask.Size()
			list = append(list, netip.PrefixFrom(ip.Unmap(), ones))
		}
	}
	return list, nil
}

// neighbour returns the permanent Ethernet address of a neighbour; "" when there is none.
func (h *held) neighbour(a netip.Addr) (string, error) {
	list, err := netlink.NeighList(h.link.Attrs().Index, netlink.FAMILY_V4)
	if err != nil {
		return "", fmt.Errorf("supervise: neighbours of %s: %w", h.link.Attrs().Name, err)
	}
	for _, n := range list {
		if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap() == a && n.State&netlink.NUD_PERMANENT != 0 {
			return n.HardwareAddr.String(), nil
		}
	}
	return "", nil
}

func (h *held) entry(a netip.Addr, mac net.HardwareAddr) *netlink.Neigh {
	return &netlink.Neigh{LinkIndex: h.link.Attrs().Index, State: netlink.NUD_PERMANENT, IP: a.AsSlice(),
		HardwareAddr: mac}
}
