package packetio

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// rocePort is the UDP destination port of RoCEv2 (IBTA annex A17).
const rocePort = 4791

// snapAll accepts the whole frame; the socket's buffer limits what is delivered.
const snapAll = 1 << 18

// overIPMAC is the beginning of the Ethernet addresses of endpoints whose packets are not RoCEv2 (see package drive).
// No device has such an address.
const overIPMAC = 0x02000078

// roceFilter accepts unfragmented UDP to port 4791 over IPv4 with any options, or over IPv6 without extension headers.
// Of other transports it accepts every frame to an endpoint's overIPMAC, and TCP over IPv4: in the namespaces of a run
// only the kernel's TCP of an endpoint uses it.
func roceFilter() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: 0, Size: 4}, // destination address
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: overIPMAC, SkipTrue: 17},
		bpf.LoadAbsolute{Off: 12, Size: 2}, // ethertype
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.ETH_P_IP, SkipFalse: 8},
		bpf.LoadAbsolute{Off: 23, Size: 1}, // IPv4 protocol
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_TCP, SkipTrue: 13},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_UDP, SkipTrue: 11},
		bpf.LoadAbsolute{Off: 20, Size: 2}, // fragment offset: only the first fragment has a UDP header
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: 0x1FFF, SkipTrue: 9},
		bpf.LoadMemShift{Off: 14}, // X = length of the IPv4 header
		bpf.LoadIndirect{Off: 16, Size: 2},
		bpf.Jump{Skip: 5},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.ETH_P_IPV6, SkipTrue: 5},
		bpf.LoadAbsolute{Off: 20, Size: 1}, // IPv6 next header
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_UDP, SkipTrue: 3},
		bpf.LoadAbsolute{Off: 56, Size: 2}, // UDP destination port
		bpf.Jump{Skip: 0},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: rocePort, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
		bpf.RetConstant{Val: snapAll},
	}
}

// attach attaches a classic BPF program to a socket.
func attach(fd int, program []bpf.Instruction) error {
	raw, err := bpf.Assemble(program)
	if err != nil {
		return err
	}
	code := make([]unix.SockFilter, len(raw))
	for i, in := range raw {
		code[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: unsafe.SliceData(code)}
	err = unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &prog)
	runtime.KeepAlive(code)
	return err
}

// Muted is a UDP port that is bound but delivers nothing.
type Muted struct{ fd int }

// Mute binds a UDP port of the calling thread's network namespace, so that its kernel does not answer frames to that
// port with ICMP "port unreachable" while an endpoint reads them by a Port.
func Mute(port int) (*Muted, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("packetio: mute UDP port %d: %w", port, err)
	}
	m := &Muted{fd: fd}
	if err := attach(fd, []bpf.Instruction{bpf.RetConstant{Val: 0}}); err != nil {
		m.Close()
		return nil, fmt.Errorf("packetio: mute UDP port %d: drop-all filter: %w", port, err)
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: port}); err != nil {
		m.Close()
		return nil, fmt.Errorf("packetio: mute UDP port %d: %w; another socket of this namespace holds it", port, err)
	}
	return m, nil
}

// Close releases the port; a second call does nothing.
func (m *Muted) Close() error {
	if m.fd < 0 {
		return nil
	}
	fd := m.fd
	m.fd = -1
	return unix.Close(fd)
}
