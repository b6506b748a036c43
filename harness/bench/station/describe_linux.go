package station

import (
	"net"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/dut"
)

// Identify describes this host, and an RDMA device with its network device, as far as every run needs it.
func Identify(device string, port int, network string) (*Description, error) {
	sys := os.DirFS("/sys")
	d := &Description{Kernel: Kernel(), Boot: Boot(), Root: os.Geteuid() == 0,
		Clock: line(sys, "devices/system/clocksource/clocksource0/current_clocksource")}
	var err error
	if d.Device, err = readDevice(sys, device, port, network); err != nil {
		return nil, err
	}
	d.Network, err = readNetwork(sys, network)
	return d, err
}

// Describe is Identify with everything else. It takes longer: a device may have a thousand GIDs.
func Describe(device string, port int, network string) (*Description, error) {
	sys := os.DirFS("/sys")
	d, err := Identify(device, port, network)
	if err != nil {
		return nil, err
	}
	if d.GIDs, err = GIDs(sys, device, port); err != nil {
		return nil, err
	}
	d.Network.Addresses = addresses(network)
	d.Network.Pause, d.Network.PFC = pauseOf(network), pfcOf(network)
	d.Network.Stamps, _ = StampsOf(network) // nil when unknown
	for _, program := range dut.Programs() {
		if _, err := exec.LookPath(program); err == nil {
			d.Programs = append(d.Programs, program)
		}
	}
	return d, nil
}

// Kernel returns the release of the running kernel.
func Kernel() string {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(name.Release[:])
}

// Boot names the time since the kernel was started.
func Boot() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// addresses returns the IPv4 addresses of a network device.
func addresses(network string) (list []string) {
	i, err := net.InterfaceByName(network)
	if err != nil {
		return nil
	}
	all, _ := i.Addrs() // empty without the necessary rights
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
			list = append(list, n.String())
		}
	}
	return list
}

// StampsOf asks a network device for its time stamps; the error is the kernel's.
func StampsOf(network string) (*Stamps, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	info, err := unix.IoctlGetEthtoolTsInfo(fd, network)
	if err != nil {
		return nil, err
	}
	raw := info.So_timestamping&unix.SOF_TIMESTAMPING_RAW_HARDWARE != 0
	return &Stamps{Sent: raw && info.So_timestamping&unix.SOF_TIMESTAMPING_TX_HARDWARE != 0,
		Received: raw && info.So_timestamping&unix.SOF_TIMESTAMPING_RX_HARDWARE != 0,
		All:      info.Rx_filters&(1<<unix.HWTSTAMP_FILTER_ALL) != 0, Clock: int(info.Phc_index)}, nil
}
