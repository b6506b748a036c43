package doctor

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// machine is the hardware that the doctor examines; a test can provide another.
type machine struct {
	sys     fs.FS // /sys
	modules fs.FS // the modules of the running kernel
	kernel  string
	root    bool
	program func(name string) bool                       // reports whether a program is installed
	stamps  func(device string) (*station.Stamps, error) // returns the time stamping capabilities of a network device
}

// hardware examines the RDMA devices, soft-RoCE and the time stamps of network devices.
func (m *machine) hardware() []Finding {
	return append(append(m.rdmaDevices(), m.softRoCE()), m.timestamps()...)
}

// text returns the content of a file of one line, "" without the file.
func (m *machine) text(name string) string {
	b, err := fs.ReadFile(m.sys, name)
	if err != nil {
		return ""
	}
	return quote.Line(string(b), quote.Sentence)
}

// entries lists a folder of /sys by name; nil without the folder.
func (m *machine) entries(dir string) (names []string) {
	list, err := fs.ReadDir(m.sys, dir)
	if err != nil {
		return nil
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// rdmaDevices describes the RDMA devices in this network namespace.
func (m *machine) rdmaDevices() (out []Finding) {
	const class = "class/infiniband"
	for _, name := range m.entries(class) {
		out = append(out, m.rdmaDevice(name, path.Join(class, name)))
	}
	if len(out) == 0 {
		return []Finding{{Name: "RDMA devices", State: "missing", Found: "none; optional, no bench needs one",
			Remedy: "soft-RoCE, in a guest: gauntlet lab fetch, then --bench lab"}}
	}
	return out
}

// rdmaDevice describes a device by its driver and its ports. It does not read the device's addresses, nor its
// description, which contains the name of the host.
func (m *machine) rdmaDevice(name, dir string) Finding {
	f := Finding{Name: "RDMA device " + name, State: "limited", Found: m.maker(name),
		Remedy: "bring its network device up: ip link set DEVICE up"}
	for _, port := range m.entries(path.Join(dir, "ports")) {
		at := path.Join(dir, "ports", port)
		state := m.text(path.Join(at, "state")) // such as "4: ACTIVE"
		if _, word, ok := strings.Cut(state, ": "); ok {
			state = word
		}
		f.Found += fmt.Sprintf("; port %s %s, %s", port, state, m.text(path.Join(at, "link_layer")))
		if device := m.text(path.Join(at, "gid_attrs/ndevs/0")); device != "" {
			f.Found += " over " + device
		}
		if state == "ACTIVE" {
			f.State, f.Remedy = "ok", ""
		}
	}
	return f
}

// maker returns the driver of a device, and whether it is hardware or software.
func (m *machine) maker(name string) string {
	switch driver := station.DriverOf(m.sys, name); {
	case driver == station.SoftRoCE:
		return "soft-RoCE, " + driver
	case driver != "":
		return "hardware, " + driver
	case strings.HasPrefix(m.text(path.Join("class/infiniband", name, "node_type")), "4"): // RNIC
		return "soft-iWARP, siw"
	}
	return "software"
}

// softRoCETools are the stock tools that drive soft-RoCE as a device under test, with their Debian packages.
var softRoCETools = []struct{ program, pack string }{{"ib_write_bw", "perftest"}, {"rping", "rdmacm-utils"}}

// softRoCE reports whether the kernel has soft-RoCE, and whether the tools that drive it are installed.
func (m *machine) softRoCE() Finding {
	f := Finding{Name: "soft-RoCE", State: "ok"}
	var missing []string
	for _, t := range softRoCETools {
		if !m.program(t.program) {
			missing = append(missing, t.pack)
		}
	}
	tools := "perftest and rping are there"
	if len(missing) > 0 {
		tools = "without " + strings.Join(missing, " and ")
		f.State, f.Remedy = "limited", "apt-get install "+strings.Join(missing, " ")
	}
	switch {
	case m.loaded("rdma_rxe"):
		f.Found = "rdma_rxe is loaded, " + tools
	case m.loadable("rdma_rxe"):
		f.Found = "rdma_rxe can be loaded, " + tools
		if !m.root {
			f.State, f.Found, f.Remedy = "limited", f.Found+"; loading it needs root", "sudo modprobe rdma_rxe"
		}
	default:
		f.State, f.Found = "missing", "kernel "+m.kernel+" has no rdma_rxe; optional, "+tools
		f.Remedy = "--bench lab brings a kernel that has it: gauntlet lab fetch"
		if len(missing) > 0 {
			f.Remedy += "; the guest takes its tools from here: apt-get install " + strings.Join(missing, " ")
		}
	}
	return f
}

// loaded reports whether a module is loaded.
func (m *machine) loaded(module string) bool {
	_, err := fs.Stat(m.sys, path.Join("module", module))
	return err == nil
}

// loadable reports whether the kernel has a module as a file or built in. A built-in module without parameters is not
// in /sys/module.
func (m *machine) loadable(module string) bool {
	for _, list := range []string{"modules.dep", "modules.builtin"} {
		text, err := fs.ReadFile(m.modules, list)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			file, _, _ := strings.Cut(strings.TrimSpace(line), ":")
			if name, _, _ := strings.Cut(path.Base(file), "."); name == module {
				return true
			}
		}
	}
	return false
}

// timestamps reports for each physical network device whether its hardware stamps frames: these are the most exact
// times that a capture can have.
func (m *machine) timestamps() (out []Finding) {
	const class = "class/net"
	for _, name := range m.entries(class) {
		if _, err := fs.Stat(m.sys, path.Join(class, name, "device")); err != nil {
			continue // a software device: bridge, veth, lo
		}
		out = append(out, m.stampsOf(name))
	}
	if len(out) == 0 {
		return []Finding{{Name: "time stamps", State: "missing", Found: "no physical network device; optional",
			Remedy: "captures have the times of the kernel"}}
	}
	return out
}

func (m *machine) stampsOf(name string) Finding {
	f := Finding{Name: "time stamps " + name, State: "ok"}
	s, err := m.stamps(name)
	switch {
	case err != nil:
		f.State, f.Found = "limited", "unknown: "+err.Error()
		return f
	case !s.Sent || !s.Received:
		f.State, f.Found, f.Remedy = "limited", "by software only",
			"captures of it have the times of the kernel; take a device that has a clock where microseconds count"
		return f
	}
	f.Found = "by hardware, in and out, of every frame"
	if !s.All {
		f.State, f.Found, f.Remedy = "limited", "by hardware, but of PTP frames only where they arrive",
			"received RoCE frames have the times of the kernel"
	}
	if s.Clock >= 0 {
		f.Found += fmt.Sprintf(", clock ptp%d", s.Clock)
	}
	if !m.root {
		f.Found += "; switching them on needs root"
	}
	return f
}
