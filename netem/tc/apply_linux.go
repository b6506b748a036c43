package tc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/containernetworking/plugins/pkg/ns"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// Applied is a link as the kernel reports it.
type Applied struct {
	Netem  Netem
	Values []Value // every setting, as requested and as read back
}

// Stats are netem's counters since Apply.
type Stats struct {
	Bytes    uint64
	Packets  uint64 // sent on by the qdisc
	Drops    uint64 // lost by the loss process, or refused by the limit
	Waiting  uint32 // packets inside the qdisc, delayed ones included
	Overflow bool   // Waiting has reached the limit at the time of reading
}

// Apply sets the link up on a device as its root qdisc, replacing any other, and reads it back. namespace is a
// descriptor. It needs CAP_NET_ADMIN there.
func Apply(namespace int, device string, l spec.Link, o Options) (Applied, error) {
	want, err := Translate(l, o)
	if err != nil {
		return Applied{}, err
	}
	// A change in place would keep the chain's state, and kernels differ in whether they reseed then.
	if err := Remove(namespace, device); err != nil {
		return Applied{}, err
	}
	if err := add(namespace, device, want); err != nil {
		return Applied{}, err
	}
	got, _, err := Read(namespace, device)
	if err != nil {
		return Applied{}, err
	}
	a := Applied{Netem: got, Values: Compare(want, got)}
	if err := mismatch(a.Values); err != nil {
		return a, fmt.Errorf("tc: netem on %s: %w", device, err)
	}
	return a, nil
}

// add creates the qdisc; a new one, unlike a changed one, has fresh chains and a fresh PRNG.
func add(namespace int, device string, n Netem) error {
	return request(namespace, device, unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_EXCL|unix.NLM_F_ACK,
		func(req *nl.NetlinkRequest) error {
			req.AddData(nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated("netem")))
			req.AddData(nl.NewRtAttr(nl.TCA_OPTIONS, n.encode()))
			_, err := req.Execute(unix.NETLINK_ROUTE, 0)
			if errors.Is(err, unix.ENOENT) {
				return fmt.Errorf("tc: netem on %s: the kernel has no sch_netem (%w): %w", device, err, ErrUnsupported)
			}
			if err != nil {
				return fmt.Errorf("tc: netem on %s: %w", device, err)
			}
			return nil
		})
}

// Remove removes the root qdisc of a device; no qdisc is not an error.
func Remove(namespace int, device string) error {
	return request(namespace, device, unix.RTM_DELQDISC, unix.NLM_F_ACK, func(req *nl.NetlinkRequest) error {
		_, err := req.Execute(unix.NETLINK_ROUTE, 0)
		if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINVAL) { // both mean: no qdisc
			return fmt.Errorf("tc: remove the qdisc of %s: %w", device, err)
		}
		return nil
	})
}

// Read returns the netem configuration and the counters of a device.
func Read(namespace int, device string) (n Netem, s Stats, err error) {
	err = request(namespace, device, unix.RTM_GETQDISC, unix.NLM_F_DUMP, func(req *nl.NetlinkRequest) error {
		index := req.Data[0].(*nl.TcMsg).Ifindex
		messages, err := req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWQDISC)
		if err != nil {
			return fmt.Errorf("tc: read the qdiscs of %s: %w", device, err)
		}
		for _, m := range messages { // older kernels dump all devices
			if len(m) < nl.SizeofTcMsg || nl.DeserializeTcMsg(m).Ifindex != index {
				continue
			}
			var found bool
			if n, s, found, err = parse(m[nl.SizeofTcMsg:]); found || err != nil {
				return err
			}
		}
		return fmt.Errorf("tc: %s has no netem qdisc", device)
	})
	s.Overflow = err == nil && s.Waiting >= n.Limit
	return n, s, err
}

// parse reads the attributes of one RTM_NEWQDISC message.
func parse(b []byte) (n Netem, s Stats, found bool, err error) {
	attrs, err := nl.ParseRouteAttr(b)
	if err != nil {
		return n, s, false, fmt.Errorf("tc: qdisc message: %w", err)
	}
	for _, a := range attrs {
		switch a.Attr.Type {
		case nl.TCA_KIND:
			found = strings.TrimRight(string(a.Value), "\x00") == "netem"
		case nl.TCA_OPTIONS:
			if found {
				n, err = decode(a.Value)
			}
		case nl.TCA_STATS: // struct tc_stats: u64 bytes; u32 packets, drops, overlimits, bps, pps, qlen, backlog
			if len(a.Value) >= 32 {
				s.Bytes = binary.NativeEndian.Uint64(a.Value)
				s.Packets = uint64(binary.NativeEndian.Uint32(a.Value[8:]))
				s.Drops = uint64(binary.NativeEndian.Uint32(a.Value[12:]))
				s.Waiting = binary.NativeEndian.Uint32(a.Value[28:])
			}
		}
		if err != nil {
			return n, s, found, err
		}
	}
	return n, s, found, nil
}

// request prepares a message about the root qdisc of a device, on a socket in the namespace.
func request(namespace int, device string, kind, flags int, send func(*nl.NetlinkRequest) error) error {
	handle, err := netlink.NewHandleAt(netns.NsHandle(namespace), unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("tc: netlink for %s: %w", device, err)
	}
	defer handle.Close()
	link, err := handle.LinkByName(device)
	if err != nil {
		return fmt.Errorf("tc: device %s: %w", device, err)
	}
	socket, err := nl.GetNetlinkSocketAt(netns.NsHandle(namespace), netns.None(), unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("tc: netlink for %s: %w", device, err)
	}
	defer socket.Close()
	req := nl.NewNetlinkRequest(kind, flags)
	req.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: {Socket: socket}}
	req.AddData(&nl.TcMsg{Family: nl.FAMILY_ALL, Ifindex: int32(link.Attrs().Index), Parent: netlink.HANDLE_ROOT})
	return send(req)
}

// Support describes what the running kernel supports.
type Support struct {
	Netem  bool   // sch_netem is available, or could be loaded
	Seed   bool   // its PRNG can be seeded (Linux 6.6)
	Reason string // reason why something is missing
	Kernel string // release
}

// Probe tests netem, once, on the loopback device of a temporary namespace.
func Probe() Support { return probed() }

var probed = sync.OnceValue(func() Support {
	s := Support{Kernel: release()}
	scratch, err := ns.TempNetNS()
	if err != nil {
		s.Reason = fmt.Sprintf("no namespace to try in: %v; run as root", err)
		return s
	}
	defer scratch.Close()
	seed := uint64(0x5EED_0123_4567_89AB)
	want := Netem{Limit: 1000, GE: &GE{P: 1, R: 2, H: 3, K1: 4}, Seed: &seed}
	if err := add(int(scratch.Fd()), "lo", want); err != nil {
		s.Reason = err.Error()
		return s
	}
	s.Netem = true
	got, _, err := Read(int(scratch.Fd()), "lo")
	switch {
	case err != nil:
		s.Reason = err.Error()
	case got.Seed == nil || *got.Seed != seed:
		s.Reason = "netem of kernel " + s.Kernel + " takes no seed (Linux 6.6 does), so losses cannot be repeated"
	default:
		s.Seed = true
	}
	return s
})

// release returns what "uname -r" prints; results depend on it, because netem has changed over the years.
func release() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}
