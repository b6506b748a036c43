package packetio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// solPacketIgnoreOutgoing is PACKET_IGNORE_OUTGOING (Linux 4.20), which golang.org/x/sys does not name.
const solPacketIgnoreOutgoing = 23

// Options say what a Port receives and how much it may hold. The zero value receives whole frames of up to 9 KiB.
type Options struct {
	Batch    int  // maximum number of frames per system call; 0 is 64
	Snap     int  // maximum number of bytes kept of a frame; 0 is 9216
	Buffer   int  // receive and send buffer of the socket in bytes; 0 is 16 MiB, less if the kernel forbids it
	Outgoing bool // also deliver the frames that this host sends, for taps
	Past     bool // bypass the device's qdisc when sending, and receive nothing
	// The device has a qdisc with a limit, or a program: a frame that it refuses is lost, and not sent again.
	Qdisc bool
	// Also receive frames for other MAC addresses, on a device that filters by them; ends with the Port.
	Promiscuous bool
	// Also deliver the stamps that the device's hardware gives to received frames. It gives them if it has been told to,
	// which is a setting of the device.
	Hardware bool
	// Receive only RoCEv2 packets (UDP destination port 4791 over IPv4 or IPv6) and those of other transports.
	RoCE bool
}

// withDefaults replaces zeros by the defaults.
func (o Options) withDefaults() Options {
	if o.Batch <= 0 {
		o.Batch = 64
	}
	if o.Snap <= 0 {
		o.Snap = 9216
	}
	if o.Buffer <= 0 {
		o.Buffer = 16 << 20
	}
	return o
}

// Port is an AF_PACKET socket bound to one device.
type Port struct {
	name     string
	fd       int
	clock    *Clock
	in       *batch
	out      *outbox
	options  Options
	received uint64
	dropped  uint64
}

// Open binds a socket to the named device of the calling thread's network namespace. Frames that arrive before Open
// returns are not delivered. The caller closes the Port. It needs CAP_NET_RAW.
//
// The kernel enables timestamps in the background, some milliseconds after the first socket of the host that asks for
// them; until then a frame has the time at which Receive took it. A run that opens its Ports first is not affected.
func Open(device string, clock *Clock, options Options) (*Port, error) {
	iface, err := net.InterfaceByName(device)
	if err != nil {
		return nil, fmt.Errorf("packetio: device %s: %w", device, err)
	}
	// With protocol 0 the socket receives nothing before bind, so that no frame passes without the filter.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("packetio: packet socket on %s: %w; run as root or with CAP_NET_RAW", device, err)
	}
	options = options.withDefaults()
	p := &Port{name: device, fd: fd, clock: clock, options: options,
		in: newBatch(options.Batch, options.Snap), out: newOutbox(options.Batch)}
	if err := p.configure(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	whole := &unix.SockaddrLinklayer{Protocol: bigEndian(unix.ETH_P_ALL), Ifindex: iface.Index}
	if options.Past {
		whole.Protocol = 0
	}
	if err := unix.Bind(fd, whole); err != nil {
		return nil, errors.Join(fmt.Errorf("packetio: bind to %s: %w", device, err), p.Close())
	}
	if options.Promiscuous {
		all := unix.PacketMreq{Ifindex: int32(iface.Index), Type: unix.PACKET_MR_PROMISC}
		if err := unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &all); err != nil {
			return nil, errors.Join(fmt.Errorf("packetio: receive all on %s: %w", device, err), p.Close())
		}
	}
	return p, nil
}

// configure sets the options that must be in effect before the first frame arrives.
func (p *Port) configure() error {
	grow(p.fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF, p.options.Buffer)
	grow(p.fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF, p.options.Buffer)
	if !p.options.Outgoing {
		// This only saves work: collect drops outgoing frames as well, for kernels that do not know the option.
		_ = unix.SetsockoptInt(p.fd, unix.SOL_PACKET, solPacketIgnoreOutgoing, 1)
	}
	if p.options.Past {
		if err := unix.SetsockoptInt(p.fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1); err != nil {
			return fmt.Errorf("packetio: way past the qdisc of %s: %w", p.name, err)
		}
	}
	if err := unix.SetsockoptInt(p.fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1); err != nil {
		return fmt.Errorf("packetio: VLAN tags on %s: %w", p.name, err)
	}
	if p.options.RoCE {
		if err := attach(p.fd, roceFilter()); err != nil {
			return fmt.Errorf("packetio: RoCE filter on %s: %w", p.name, err)
		}
	}
	if err := unix.SetsockoptInt(p.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		return fmt.Errorf("packetio: receive times on %s: %w", p.name, err)
	}
	if p.options.Hardware {
		if err := hardwareStamps(p.fd); err != nil {
			return fmt.Errorf("packetio: receive times by the hardware of %s: %w", p.name, err)
		}
	}
	return nil
}

// grow asks for a buffer beyond the system's maximum or, without the privilege for that, for the maximum.
func grow(fd, force, plain, size int) {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, size) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, plain, size) // the kernel limits it, see Counts.Dropped
	}
}

// File returns a duplicate of the socket, for a process that inherits it. The caller closes it.
func (p *Port) File() (*os.File, error) {
	fd, err := unix.FcntlInt(uintptr(p.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("packetio: socket on %s once more: %w", p.name, err)
	}
	return os.NewFile(uintptr(fd), p.name), nil
}

// Inherit returns a Port for a socket that another process has opened, with the default sizes of Options, and passed
// on. The Port closes it.
func Inherit(fd int, device string, clock *Clock) *Port {
	options := Options{}.withDefaults()
	return &Port{name: device, fd: fd, clock: clock, options: options,
		in: newBatch(options.Batch, options.Snap), out: newOutbox(options.Batch)}
}

// Fd returns the socket, for a Waiter.
func (p *Port) Fd() int { return p.fd }

// Receive returns the waiting frames, oldest first, at most one batch; no frame is not an error. They are valid until
// the next call.
func (p *Port) Receive() ([]Packet, error) {
	n, err := p.in.receive(p.fd)
	switch {
	case err == nil:
		p.clock.Refresh()
		return p.in.collect(n, p.clock, p.options.Outgoing), nil
	case err == unix.EAGAIN || err == unix.EINTR || err == unix.ENETDOWN:
		return nil, nil
	}
	return nil, fmt.Errorf("packetio: receive on %s: %w", p.name, err)
}

// Send passes frames to the device in order and returns how many it accepted. It accepts fewer than all, without an
// error, when the socket's buffer or the device's queue is full; the caller tries again later.
func (p *Port) Send(frames [][]byte) (int, error) {
	done := 0
	for done < len(frames) {
		n, err := p.out.send(p.fd, p.next(frames[done:]))
		done += n
		switch {
		case err == nil || err == unix.EINTR:
		case err == unix.ENOBUFS && p.options.Qdisc:
			done++
		case err == unix.EAGAIN || err == unix.ENOBUFS:
			return done, nil
		default:
			return done, fmt.Errorf("packetio: send on %s: %w", p.name, err)
		}
	}
	return done, nil
}

// next returns the frames for one system call. When the kernel refuses a frame behind others in the same call, it does
// not report whether that frame was taken. Where a frame may be lost on the way to the device, each therefore has a
// call of its own; otherwise it could be sent twice.
func (p *Port) next(frames [][]byte) [][]byte {
	if p.options.Qdisc {
		return frames[:1]
	}
	return frames
}

// Counts are the kernel's counters of a Port since it was opened.
type Counts struct {
	Received uint64 // frames that passed the filter, dropped ones included
	Dropped  uint64 // frames lost because the receive buffer was full
	// Frames received behind one that the kernel took from the device later: processors that process frames of a device
	// at the same time pass them to its sockets in any order.
	Swapped uint64
}

// Counts reads the kernel's counters.
func (p *Port) Counts() (Counts, error) {
	s, err := unix.GetsockoptTpacketStats(p.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return Counts{}, fmt.Errorf("packetio: statistics of %s: %w", p.name, err)
	}
	p.received += uint64(s.Packets) // reading resets the kernel's counters
	p.dropped += uint64(s.Drops)
	return Counts{Received: p.received, Dropped: p.dropped, Swapped: p.in.swapped}, nil
}

// Close releases the socket; a second call does nothing.
func (p *Port) Close() error {
	if p.fd < 0 {
		return nil
	}
	fd := p.fd
	p.fd = -1
	if err := unix.Close(fd); err != nil {
		return fmt.Errorf("packetio: close %s: %w", p.name, err)
	}
	return nil
}

// bigEndian is htons: the number whose bytes in memory are x in network order.
func bigEndian(x uint16) uint16 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], x)
	return binary.NativeEndian.Uint16(b[:])
}
