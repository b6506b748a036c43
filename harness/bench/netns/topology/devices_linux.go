package topology

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"
)

// bridge joins the ports of a link where the kernel's netem makes it.
const bridge = "link"

// lay creates the cables.
func (t *Topology) lay(mtu int) error {
	for _, c := range t.cables {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU, attrs.HardwareAddr = c.Host.Device, mtu, c.Host.MAC
		if err := c.In.removeDevice(c.Host); err != nil { // left by a killed run
			return err
		}
		veth := netlink.NewVeth(attrs)
		veth.PeerName, veth.PeerMTU, veth.PeerNamespace = c.Port, uint32(mtu), netlink.NsFd(t.M.Fd())
		if err := c.In.Links.LinkAdd(veth); err != nil {
			return fmt.Errorf("netns: create veth pair %s-%s: %w", c.Host.Device, c.Port, err)
		}
	}
	return nil
}

// admit lets two endpoints in one namespace receive each other's packets.
func (t *Topology) admit(own [2]bool) error {
	if !own[0] || !own[1] {
		return nil
	}
	return t.A.Do(func() error { return errors.Join(acceptLocal(DeviceA), acceptLocal(DeviceB)) })
}

// configureBox brings the devices of the box up. They have no address: its kernel must neither route nor answer.
func (t *Topology) configureBox() error {
	if t.X == nil {
		return nil
	}
	for _, h := range boxPorts() {
		if _, err := raise(t.X, h.Device); err != nil {
			return err
		}
	}
	return nil
}

// configureHost gives an endpoint its address and a permanent entry for the other one.
func configureHost(n *Namespace, own, peer Host) error {
	link, err := raise(n, own.Device)
	if err != nil {
		return err
	}
	address := &netlink.Addr{IPNet: &net.IPNet{IP: own.IP, Mask: net.CIDRMask(24, 32)}}
	if err := n.Links.AddrAdd(link, address); err != nil {
		return fmt.Errorf("netns: address %s on %s: %w", own.IP, own.Device, err)
	}
	neighbour := &netlink.Neigh{LinkIndex: link.Attrs().Index, State: netlink.NUD_PERMANENT, IP: peer.IP,
		HardwareAddr: peer.MAC}
	if err := n.Links.NeighSet(neighbour); err != nil {
		return fmt.Errorf("netns: static neighbour %s on %s: %w", peer.IP, own.Device, err)
	}
	_, err = raise(n, "lo")
	return err
}

// configureLink brings the ports up and, for netem, bridges those of the link. The LAN of a middlebox is always a
// relay's.
func (t *Topology) configureLink(o Options) error {
	if o.Bridge {
		if err := t.addBridge(o.MTU); err != nil {
			return err
		}
	}
	for _, c := range t.cables {
		port := c.Port
		link, err := raise(t.M, port)
		if err != nil {
			return err
		}
		if !o.Bridge || port == LANPortA || port == LANPortBox {
			continue
		}
		if err := t.M.Links.LinkSetMaster(link,
			&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridge}}); err != nil {
			return fmt.Errorf("netns: put %s into bridge %s: %w", port, bridge, err)
		}
	}
	return nil
}

// settle returns when all devices carry frames.
func (t *Topology) settle() error {
	for _, c := range t.cables {
		err := c.In.Do(func() error { return settle(c.Host.Device) })
		if err == nil {
			err = t.M.Do(func() error { return settle(c.Port) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addBridge makes a bridge that sends no frame of its own; it has two ports, so there is nothing to learn either.
func (t *Topology) addBridge(mtu int) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = bridge, mtu
	snoop := false
	if err := t.M.Links.LinkAdd(&netlink.Bridge{LinkAttrs: attrs, MulticastSnooping: &snoop}); err != nil {
		return fmt.Errorf("netns: create bridge %s: %w; the kernel needs CONFIG_BRIDGE", bridge, err)
	}
	_, err := raise(t.M, bridge)
	return err
}

// raise brings a device up without ARP, multicast and offloads, and returns it.
func raise(n *Namespace, device string) (netlink.Link, error) {
	link, err := n.Links.LinkByName(device)
	if err != nil {
		return nil, fmt.Errorf("netns: device %s in namespace %s: %w", device, n.Label, err)
	}
	if device != "lo" {
		if err := quiet(n, link); err != nil {
			return nil, err
		}
	}
	if err := n.Links.LinkSetUp(link); err != nil {
		return nil, fmt.Errorf("netns: bring %s up: %w", device, err)
	}
	return link, nil
}

func quiet(n *Namespace, link netlink.Link) error {
	device := link.Attrs().Name
	if err := n.Links.LinkSetARPOff(link); err != nil {
		return fmt.Errorf("netns: switch ARP off on %s: %w", device, err)
	}
	if err := n.Links.LinkSetMulticastOff(link); err != nil {
		return fmt.Errorf("netns: switch multicast off on %s: %w", device, err)
	}
	if err := n.Links.LinkSetGSOMaxSegs(link, 1); err != nil {
		return fmt.Errorf("netns: switch segmentation offload off on %s: %w", device, err)
	}
	if device == bridge {
		return nil
	}
	return n.Do(func() error { return checksumInSoftware(device) })
}

// removeDevice removes an end's device from a namespace that outlives the Topology. A device of the same name with
// another address is not ours, and stays.
func (n *Namespace) removeDevice(h Host) error {
	if !n.own {
		return nil
	}
	link, err := n.Links.LinkByName(h.Device)
	if err != nil || !bytes.Equal(link.Attrs().HardwareAddr, h.MAC) {
		return nil
	}
	if err := n.Links.LinkDel(link); err != nil {
		return fmt.Errorf("netns: remove %s: %w", h.Device, err)
	}
	return nil
}

// acceptLocal lets a device receive packets from an address of its own namespace. Otherwise, with both ends of the link
// in one namespace, each would drop the other's packets as martians. The setting ends with the device.
func acceptLocal(device string) error {
	if err := os.WriteFile("/proc/sys/net/ipv4/conf/"+device+"/accept_local", []byte("1"), 0o644); err != nil {
		return fmt.Errorf("netns: let %s receive from its own namespace: %w; mount /proc/sys writable", device, err)
	}
	return nil
}
