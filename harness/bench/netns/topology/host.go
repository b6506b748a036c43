package topology

import "net"

// The devices: DeviceA and DeviceB belong to the endpoints, PortA and PortB to the link between them. A path with a
// middlebox has DeviceLAN and DeviceWAN at the box, and LANPortA and LANPortBox at the link between it and A; PortA
// then faces the box.
const (
	DeviceA    = "a0"
	DeviceB    = "b0"
	DeviceLAN  = "x0"
	DeviceWAN  = "x1"
	PortA      = "ra"
	PortB      = "rb"
	LANPortA   = "la"
	LANPortBox = "lx"
)

// DefaultMTU is the usual jumbo size; MinMTU carries 4096 bytes of payload with every header a RoCEv2 packet can have.
const (
	DefaultMTU = 9000
	MinMTU     = 4096 + 128
)

// Host is the configuration of the device of an endpoint, or of a middlebox. A middlebox has no IP addresses. Addresses
// are the same in every run, so that traces compare.
type Host struct {
	Device string
	MAC    net.HardwareAddr
	IP     net.IP
}

// HostA returns the addresses of endpoint A.
func HostA() Host { return host(DeviceA, 1) }

// HostB returns the addresses of endpoint B.
func HostB() Host { return host(DeviceB, 2) }

// boxPorts returns the addresses of the two devices of a middlebox, which appears in no packet: the packets that cross
// it are not addressed to it.
func boxPorts() [2]Host {
	lan, wan := host(DeviceLAN, 3), host(DeviceWAN, 4)
	lan.IP, wan.IP = nil, nil
	return [2]Host{lan, wan}
}

// host numbers an endpoint in 10.77.0.0/24 and among locally administered MAC addresses.
func host(device string, n byte) Host {
	return Host{Device: device, MAC: net.HardwareAddr{2, 0, 0, 0x77, 0, n}, IP: net.IPv4(10, 77, 0, n).To4()}
}
