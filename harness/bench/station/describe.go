package station

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// Description is a host's description of itself and of its device. Unknown values are "" or nil.
type Description struct {
	Kernel string `json:"kernel"`
	Boot   string `json:"boot"` // identifies the time between two starts of the kernel
	Root   bool   `json:"root"`
	Clock  string `json:"clock"` // clock source of the kernel

	Device   Device   `json:"device"`
	Network  Network  `json:"network"`
	GIDs     []GID    `json:"gids"`
	Programs []string `json:"programs"` // the stock tools that are there
}

// Differs names the first property of the device or of its kernel that is another in a later description, with both
// values; "" when none is.
func (d *Description) Differs(later *Description) string {
	for _, f := range [][3]string{{"kernel", d.Kernel, later.Kernel}, {"vendor", d.Device.Vendor, later.Device.Vendor},
		{"part", cmp.Or(d.Device.Board, d.Device.Part), cmp.Or(later.Device.Board, later.Device.Part)},
		{"firmware", d.Device.Firmware, later.Device.Firmware}, {"driver", d.Device.Driver, later.Device.Driver},
		{"start of the kernel", d.Boot, later.Boot}, {"Ethernet address", d.Network.MAC, later.Network.MAC}} {
		if f[1] != f[2] {
			return fmt.Sprintf("%s was %s and is %s", f[0], cmp.Or(f[1], "not told"), cmp.Or(f[2], "not told"))
		}
	}
	return ""
}

// Device is an RDMA device and one of its ports.
type Device struct {
	Name     string            `json:"name"`
	Port     int               `json:"port"`
	Driver   string            `json:"driver"`           // "mlx5_core"; "rdma_rxe" is the kernel's soft-RoCE
	Firmware string            `json:"firmware"`         // "16.35.2000"
	Vendor   string            `json:"vendor,omitempty"` // PCI vendor ID, "0x15b3"
	Part     string            `json:"part,omitempty"`   // PCI device ID, "0x101d"
	Board    string            `json:"board,omitempty"`  // "MT_0000000012"
	State    string            `json:"state"`            // "ACTIVE"
	Layer    string            `json:"link_layer"`       // "Ethernet"
	Rate     string            `json:"rate"`             // "100 Gb/sec (4X EDR)"
	Counters int               `json:"counters"`         // number of counters of the port
	ECN      map[string]string `json:"ecn,omitempty"`    // of DCQCN: "np", "rp", the priorities on which it is on
}

// SoftRoCE is the driver of the kernel's soft-RoCE.
const SoftRoCE = "rdma_rxe"

// Kind returns the kind of a device, for reports.
func (d *Device) Kind() string {
	if d.Driver == SoftRoCE {
		return "soft-RoCE"
	}
	kind := "RNIC, " + d.Driver
	if d.Firmware != "" {
		kind += " firmware " + d.Firmware
	}
	return kind
}

// Identity returns the identity of the device, as names and values; unknown values are left out. The name of a board
// identifies the part better than the PCI ID.
func (d *Device) Identity() (facts [][2]string) {
	for _, f := range [][2]string{{"vendor", d.Vendor}, {"part", cmp.Or(d.Board, d.Part)}, {"firmware", d.Firmware},
		{"driver", d.Driver}} {
		if f[1] != "" {
			facts = append(facts, f)
		}
	}
	return facts
}

// Network is the network device of a port.
type Network struct {
	Name      string   `json:"name"`
	Driver    string   `json:"driver"`
	MAC       string   `json:"mac"`
	MTU       int      `json:"mtu"`
	Up        bool     `json:"up"`
	Carrier   bool     `json:"carrier"`
	Speed     int      `json:"speed_mbps"` // 0 when unknown
	Addresses []string `json:"addresses"`  // of IPv4, with the length of the prefix

	Pause  *Pause  `json:"pause,omitempty"`
	PFC    *uint8  `json:"pfc,omitempty"` // a bit for each priority on which it is on
	Stamps *Stamps `json:"stamps,omitempty"`
}

// Pause is whether a network device sends and obeys pause frames.
type Pause struct {
	Sent   bool `json:"sent"`
	Obeyed bool `json:"obeyed"`
}

// Stamps describes the timestamps that a network device can give to frames.
type Stamps struct {
	Sent     bool `json:"sent"`     // sent frames, by the hardware, raw
	Received bool `json:"received"` // received frames, likewise
	All      bool `json:"all"`      // all received frames, not only those of PTP
	Clock    int  `json:"clock"`    // index of its PTP clock, -1 without one
}

// line reads a file of one line, "" when there is none.
func line(sys fs.FS, name string) string {
	b, err := fs.ReadFile(sys, name)
	if err != nil {
		return ""
	}
	return quote.Line(string(b), quote.Sentence)
}

// readDevice reads the description of a port from /sys.
func readDevice(sys fs.FS, device string, port int, network string) (Device, error) {
	dir := path.Join(class, device)
	if _, err := fs.Stat(sys, dir); err != nil {
		return Device{}, &Missing{What: "RDMA device " + device}
	}
	at := path.Join(dir, "ports", strconv.Itoa(port))
	if _, err := fs.Stat(sys, at); err != nil {
		return Device{}, &Missing{What: "port " + strconv.Itoa(port) + " of RDMA device " + device}
	}
	_, state, _ := strings.Cut(line(sys, path.Join(at, "state")), ": ") // such as "4: ACTIVE"
	d := Device{Name: device, Port: port, Driver: DriverOf(sys, device), Firmware: line(sys, path.Join(dir, "fw_ver")),
		Board:  line(sys, path.Join(dir, "board_id")),
		Vendor: line(sys, path.Join(dir, "device/vendor")), Part: line(sys, path.Join(dir, "device/device")),
		State: state, Layer: line(sys, path.Join(at, "link_layer")), Rate: line(sys, path.Join(at, "rate")),
		ECN: congestion(sys, network)}
	for _, kind := range []string{"counters", "hw_counters"} {
		list, err := fs.ReadDir(sys, path.Join(at, kind))
		if err == nil {
			d.Counters += len(list)
		}
	}
	return d, nil
}

// DriverOf returns the driver of an RDMA device, from /sys, which sys is; "" when it is not known. Only soft-RoCE has a
// file that names the network device below it; old kernels also give it the driver of that.
func DriverOf(sys fs.FS, device string) string {
	dir := path.Join(class, device)
	if line(sys, path.Join(dir, "parent")) != "" {
		return SoftRoCE
	}
	link, err := fs.ReadLink(sys, path.Join(dir, "device/driver"))
	if err != nil {
		return ""
	}
	return quote.Line(path.Base(link), quote.Name)
}

// congestion returns the priorities on which DCQCN is enabled, if the driver of ConnectX shows them; otherwise nil. The
// notification point answers marked packets by CNPs, and the reaction point reduces its rate on them.
func congestion(sys fs.FS, network string) map[string]string {
	found := map[string]string{}
	for short, name := range map[string]string{"np": "roce_np", "rp": "roce_rp"} {
		dir := path.Join("class/net", network, "ecn", name, "enable")
		list, err := fs.ReadDir(sys, dir)
		if err != nil {
			continue
		}
		var on []string
		for _, e := range list {
			if line(sys, path.Join(dir, e.Name())) == "1" {
				on = append(on, e.Name())
			}
		}
		found[short] = quote.Line(strings.Join(on, ","), quote.Name)
	}
	if len(found) == 0 {
		return nil
	}
	return found
}

// readNetwork reads the description of a network device from /sys.
func readNetwork(sys fs.FS, name string) (Network, error) {
	dir := path.Join("class/net", name)
	if _, err := fs.Stat(sys, dir); err != nil {
		return Network{}, &Missing{What: "network device " + name}
	}
	mtu, _ := strconv.Atoi(line(sys, path.Join(dir, "mtu")))
	// -1, or an error of the kernel, when it is not known
	speed, _ := strconv.Atoi(line(sys, path.Join(dir, "speed")))
	flags, _ := strconv.ParseUint(line(sys, path.Join(dir, "flags")), 0, 32)
	n := Network{Name: name, MAC: line(sys, path.Join(dir, "address")), MTU: mtu, Up: flags&1 != 0,
		Carrier: line(sys, path.Join(dir, "carrier")) == "1", Speed: max(0, speed)}
	if link, err := fs.ReadLink(sys, path.Join(dir, "device/driver")); err == nil {
		n.Driver = quote.Line(path.Base(link), quote.Name)
	}
	return n, nil
}

// Missing is the error for something that a host does not have.
type Missing struct{ What string }

// Error implements error.
func (m *Missing) Error() string { return "station: no " + m.What }
