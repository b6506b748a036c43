package netns

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os/exec"

	"github.com/vishvananda/netlink"
)

// The devices: DeviceA and DeviceB belong to the endpoints, PortA and PortB to the link between them. A path with a box has
// DeviceLAN and DeviceWAN at the box, and LANPortA and LANPortBox at the link between it and A; PortA then faces the box.
const (
	DeviceA    = "a0"
	DeviceB    = "b0"
	DeviceLAN  = "x0"
	DeviceWAN  = "x1"
	PortA      = "ra"
	PortB      = "rb"
	LANPortA   = "la"
	LANPortBox = "lx"
	bridge     = "link"
)

// DefaultMTU is the usual jumbo size; MinMTU carries 4096 bytes of payload with every header a RoCEv2 packet can have.
const (
	DefaultMTU = 9000
	MinMTU     = 4096 + 128
)

// Host is what the device of an endpoint, or of a box, is set to. A box has no IP addresses. Addresses are the same in every run, so that traces compare.
type Host struct {
	Device string
	MAC    net.HardwareAddr
	IP     net.IP
}

// HostA returns the addresses of endpoint A.
func HostA() Host { return host(DeviceA, 1) }

// HostB returns the addresses of endpoint B.
func HostB() Host { return host(DeviceB, 2) }

// boxPorts returns the addresses of the two devices of a box, which has none in a packet: what crosses it is not addressed
// to it.
func boxPorts() [2]Host {
	lan, wan := host(DeviceLAN, 3), host(DeviceWAN, 4)
	lan.IP, wan.IP = nil, nil
	return [2]Host{lan, wan}
}

// host numbers an endpoint in 10.77.0.0/24 and among locally administered MAC addresses.
func host(device string, n byte) Host {
	return Host{Device: device, MAC: net.HardwareAddr{2, 0, 0, 0x77, 0, n}, IP: net.IPv4(10, 77, 0, n).To4()}
}

// Options say what to build.
type Options struct {
	Box    bool // a namespace X for a box, between A and the link
	Bridge bool // join PortA and PortB by a bridge, for tc-netem; else a relay in M has to carry the frames
	MTU    int  // of all devices; 0 is DefaultMTU, less than MinMTU is an error

	// Own leaves an endpoint in the namespace of this process instead of giving it one; its device is removed in the end. Two
	// that are both there still talk over the link: whoever sends has to name the device, as soft-RoCE does.
	Own [2]bool

	// Of names, by the label of a namespace, the process that it belongs to: the first of a container, which brought a
	// namespace of its own and is to find its devices there. The others are made.
	Of map[string]int

	// Name, when not empty, lets people look inside while the run lasts: `ip netns exec NAME-a …`, likewise NAME-link,
	// NAME-b and, with a box, NAME-box. Janitor is then needed: the same binary, about to call JanitorMain with the names it is given.
	Name    string
	Janitor func(names []string) *exec.Cmd
}

// Topology is the built network.
type Topology struct {
	A, M, B *Namespace
	X       *Namespace // of the box; nil without one

	cables  []cable
	spawner *spawner
	exposed *exposed
	closed  bool
}

// Open builds the topology; what was built is released again when a step fails. The caller closes the Topology.
func Open(o Options) (*Topology, error) {
	if o.MTU == 0 {
		o.MTU = DefaultMTU
	}
	if o.MTU < MinMTU {
		return nil, fmt.Errorf("netns: MTU %d is too small for 4096-byte payloads; want at least %d", o.MTU, MinMTU)
	}
	if err := Privileged(); err != nil {
		return nil, err
	}
	t := &Topology{}
	if err := t.build(o); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (t *Topology) build(o Options) (err error) {
	for _, n := range []struct {
		at     **Namespace
		label  string
		wanted bool
	}{{&t.A, "A", true}, {&t.M, "M", true}, {&t.B, "B", true}, {&t.X, "X", o.Box}} {
		if !n.wanted {
			continue
		}
		open := newNamespace
		switch pid, given := o.Of[n.label]; {
		case given:
			open = func(label string) (*Namespace, error) { return namespaceOf(label, pid) }
		case n.label == "A" && o.Own[0] || n.label == "B" && o.Own[1]:
			open = ownNamespace
		}
		if *n.at, err = open(n.label); err != nil {
			return err
		}
	}
	t.plan()
	if t.spawner, err = newSpawner(); err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return t.lay(o.MTU) },
		func() error { return configureHost(t.A, HostA(), HostB()) },
		func() error { return configureHost(t.B, HostB(), HostA()) },
		func() error { return t.admit(o.Own) },
		t.configureBox,
		func() error { return t.configureLink(o) },
		t.settle,
	} {
		if err = step(); err != nil {
			return err
		}
	}
	if o.Name != "" {
		t.exposed, err = expose(o, t.all())
	}
	return err
}

// cable is a veth pair from the device of a namespace to a port in M.
type cable struct {
	in   *Namespace
	host Host
	port string
}

// plan lists the cables.
func (t *Topology) plan() {
	if t.X == nil {
		t.cables = []cable{{t.A, HostA(), PortA}, {t.B, HostB(), PortB}}
		return
	}
	box := boxPorts()
	t.cables = []cable{{t.A, HostA(), LANPortA}, {t.X, box[0], LANPortBox}, {t.X, box[1], PortA}, {t.B, HostB(), PortB}}
}

// all returns the namespaces that there are.
func (t *Topology) all() (list []*Namespace) {
	for _, n := range []*Namespace{t.A, t.M, t.B, t.X} {
		if n != nil {
			list = append(list, n)
		}
	}
	return list
}

// lay makes the cables.
func (t *Topology) lay(mtu int) error {
	for _, c := range t.cables {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU, attrs.HardwareAddr = c.host.Device, mtu, c.host.MAC
		if err := c.in.removeDevice(c.host); err != nil { // what a run that was killed left
			return err
		}
		veth := netlink.NewVeth(attrs)
		veth.PeerName, veth.PeerMTU, veth.PeerNamespace = c.port, uint32(mtu), netlink.NsFd(t.M.Fd())
		if err := c.in.Links.LinkAdd(veth); err != nil {
			return fmt.Errorf("netns: create veth pair %s-%s: %w", c.host.Device, c.port, err)
		}
	}
	return nil
}

// admit lets two endpoints in one namespace hear each other.
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
	neighbour := &netlink.Neigh{LinkIndex: link.Attrs().Index, State: netlink.NUD_PERMANENT, IP: peer.IP, HardwareAddr: peer.MAC}
	if err := n.Links.NeighSet(neighbour); err != nil {
		return fmt.Errorf("netns: static neighbour %s on %s: %w", peer.IP, own.Device, err)
	}
	_, err = raise(n, "lo")
	return err
}

// configureLink brings the ports up and, for netem, bridges those of the link. The LAN of a box is always a relay's.
func (t *Topology) configureLink(o Options) error {
	if o.Bridge {
		if err := t.addBridge(o.MTU); err != nil {
			return err
		}
	}
	for _, c := range t.cables {
		port := c.port
		link, err := raise(t.M, port)
		if err != nil {
			return err
		}
		if !o.Bridge || port == LANPortA || port == LANPortBox {
			continue
		}
		if err := t.M.Links.LinkSetMaster(link, &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridge}}); err != nil {
			return fmt.Errorf("netns: put %s into bridge %s: %w", port, bridge, err)
		}
	}
	return nil
}

// settle returns when all devices carry frames.
func (t *Topology) settle() error {
	for _, c := range t.cables {
		err := c.in.Do(func() error { return settle(c.host.Device) })
		if err == nil {
			err = t.M.Do(func() error { return settle(c.port) })
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

// removeDevice removes an end's device from a namespace that outlives the Topology. One of the same name and another address
// is somebody else's, and stays.
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

// Close kills what StartIn started and is still running, removes the exposed names and lets the namespaces go. A second
// call does nothing.
func (t *Topology) Close() error {
	if t.closed {
		return nil
	}
	t.closed = true
	var errs []error
	if t.spawner != nil {
		t.spawner.close()
	}
	if t.exposed != nil {
		errs = append(errs, t.exposed.close())
	}
	for _, n := range t.all() {
		errs = append(errs, n.removeDevice(HostA()), n.removeDevice(HostB()), n.close())
	}
	return errors.Join(errs...)
}
