package doctor

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// made returns a machine with the given files; a name that ends with @ is a symbolic link.
func made(files map[string]string) *machine {
	sys := fstest.MapFS{}
	for name, text := range files {
		if link, ok := strings.CutSuffix(name, "@"); ok {
			sys[link] = &fstest.MapFile{Data: []byte(text), Mode: fs.ModeSymlink | 0o777}
			continue
		}
		sys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return &machine{sys: sys, modules: fstest.MapFS{}, kernel: "6.1.0", root: true,
		program: func(string) bool { return true },
		stamps:  func(string) (*station.Stamps, error) { return &station.Stamps{Clock: -1}, nil }}
}

// devices is a machine with a NIC, soft-RoCE over another interface, and soft-iWARP. Its old kernel reports for
// soft-RoCE the driver of that interface.
var devices = map[string]string{
	"class/infiniband/mlx5_0/device/driver@":            "../../../../bus/pci/drivers/mlx5_core",
	"class/infiniband/mlx5_0/node_type":                 "1: CA\n",
	"class/infiniband/mlx5_0/node_desc":                 "secret-host mlx5_0\n",
	"class/infiniband/mlx5_0/node_guid":                 "5254:00ff:fe12:3456\n",
	"class/infiniband/mlx5_0/ports/1/state":             "4: ACTIVE\n",
	"class/infiniband/mlx5_0/ports/1/link_layer":        "Ethernet\n",
	"class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0": "ens1\n",
	"class/infiniband/mlx5_0/ports/2/state":             "1: DOWN\n",
	"class/infiniband/mlx5_0/ports/2/link_layer":        "InfiniBand\n",
	"class/infiniband/rxe0/device/driver@":              "../../../../bus/virtio/drivers/virtio_net",
	"class/infiniband/rxe0/parent":                      "eth0\n",
	"class/infiniband/rxe0/node_type":                   "1: CA\n",
	"class/infiniband/rxe0/ports/1/state":               "1: DOWN\n",
	"class/infiniband/rxe0/ports/1/link_layer":          "Ethernet\n",
	"class/infiniband/rxe0/ports/1/gid_attrs/ndevs/0":   "eth0\n",
	"class/infiniband/siw0/node_type":                   "4: RNIC\n",
	"class/infiniband/siw0/ports/1/state":               "4: ACTIVE\n",
	"class/infiniband/siw0/ports/1/link_layer":          "Ethernet\n",
}

func TestRDMADevices(t *testing.T) {
	const up = "bring its network device up: ip link set DEVICE up"
	want := []Finding{
		{"RDMA device mlx5_0", "ok",
			"hardware, mlx5_core; port 1 ACTIVE, Ethernet over ens1; port 2 DOWN, InfiniBand", ""},
		{"RDMA device rxe0", "limited", "soft-RoCE, rdma_rxe; port 1 DOWN, Ethernet over eth0", up},
		{"RDMA device siw0", "ok", "soft-iWARP, siw; port 1 ACTIVE, Ethernet", ""},
	}
	got := made(devices).rdmaDevices()
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if none := made(nil).rdmaDevices(); len(none) != 1 || none[0].State != "missing" || none[0].Remedy == "" {
		t.Errorf("none: %+v", none)
	}
}

func TestSoftRoCE(t *testing.T) {
	dep := fstest.MapFS{"modules.dep": {Data: []byte("kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko.xz: " +
		"kernel/net/x.ko\nkernel/y.ko:\n")}}
	loaded := map[string]string{"module/rdma_rxe/refcnt": "0\n"}
	all := func(string) bool { return true }
	none := func(string) bool { return false }
	for _, c := range []struct {
		name    string
		sys     map[string]string
		modules fs.FS
		root    bool
		program func(string) bool
		state   string
		found   string
		remedy  string
	}{
		{"loaded", loaded, nil, false, all, "ok", "rdma_rxe is loaded, perftest and rping are there", ""},
		{"loadable", nil, dep, true, all, "ok", "rdma_rxe can be loaded, perftest and rping are there", ""},
		{"built in", nil, fstest.MapFS{"modules.builtin": {Data: []byte("kernel/rdma_rxe.ko\n")}}, true, all, "ok",
			"can be loaded", ""},
		{"not root", nil, dep, false, all, "limited", "loading it needs root", "sudo modprobe rdma_rxe"},
		{"no tools", loaded, nil, true, none, "limited", "without perftest and rdmacm-utils",
			"apt-get install perftest rdmacm-utils"},
		{"no module", nil, fstest.MapFS{"modules.dep": {Data: []byte("kernel/not_rdma_rxe.ko:\n")}}, true, all,
			"missing", "kernel 6.1.0 has no rdma_rxe", "gauntlet lab fetch"},
		{"nothing", nil, nil, true, none, "missing", "without perftest", "apt-get install perftest rdmacm-utils"},
	} {
		m := made(c.sys)
		m.root, m.program = c.root, c.program
		if c.modules != nil {
			m.modules = c.modules
		}
		f := m.softRoCE()
		if f.State != c.state || !strings.Contains(f.Found, c.found) || !strings.HasSuffix(f.Remedy, c.remedy) ||
			(c.state == "ok") != (f.Remedy == "") {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

func TestTimestamps(t *testing.T) {
	m := made(map[string]string{"class/net/eth0/device/vendor": "0x1\n", "class/net/lo/mtu": "65536\n",
		"class/net/veth0/mtu": "1500\n"})
	for _, c := range []struct {
		says  *station.Stamps
		err   error
		root  bool
		state string
		found string
	}{
		{&station.Stamps{Sent: true, Received: true, All: true, Clock: 0}, nil, true, "ok",
			"by hardware, in and out, of every frame, clock ptp0"},
		{&station.Stamps{Sent: true, Received: true, All: true, Clock: -1}, nil, false, "ok",
			"by hardware, in and out, of every frame; switching them on needs root"},
		{&station.Stamps{Sent: true, Received: true, All: false, Clock: 2}, nil, true, "limited",
			"by hardware, but of PTP frames only where they arrive, clock ptp2"},
		{&station.Stamps{Sent: true, Received: false, All: true, Clock: -1}, nil, true, "limited", "by software only"},
		{nil, errors.New("operation not supported"), true, "limited", "unknown: operation not supported"},
	} {
		m.root, m.stamps = c.root, func(string) (*station.Stamps, error) { return c.says, c.err }
		got := m.timestamps()
		if len(got) != 1 || got[0].Name != "time stamps eth0" || got[0].State != c.state || got[0].Found != c.found {
			t.Errorf("%+v: %+v; want %s, %q", c.says, got, c.state, c.found)
		}
	}
	if none := made(nil).timestamps(); len(none) != 1 || none[0].State != "missing" {
		t.Errorf("none: %+v", none)
	}
}

// Addresses and the name of the host stay on the machine, because users publish the doctor's output.
func TestDoctorKeepsAddressesToItself(t *testing.T) {
	for _, f := range made(devices).hardware() {
		for _, secret := range []string{"secret-host", "5254", "fe12"} {
			if strings.Contains(f.Found+f.Remedy+f.Name, secret) {
				t.Errorf("%+v", f)
			}
		}
	}
}

// The doctor doubles the rate until the link is INVALID, or halves it until the link is valid.
func TestCapacity(t *testing.T) {
	for _, c := range []struct {
		name  string
		holds unit.Rate // highest valid rate
		runs  int
		state string
		found string
	}{
		{"a fast machine", 1_000_000_000, 5, "ok", "valid up to 800 Mb/s, with 80 000 packets/s through the relay; " +
			"at 1.60 Gb/s it is INVALID: late"},
		{"README's rate", usualRate, 2, "ok",
			"valid up to 100 Mb/s, with 10 000 packets/s through the relay; at 200 Mb/s it is INVALID: late"},
		{"a slow one", 30_000_000, 3, "limited",
			"valid up to 25 Mb/s, with 2500 packets/s through the relay; at 50 Mb/s it is INVALID: late"},
		{"none", 0, 4, "limited", "INVALID at 12.5 Mb/s already: late"},
		{"whatever", 1 << 60, mostTrials, "ok", "valid up to 6.40 Gb/s"},
	} {
		runs := 0
		f := capacity(func(rate unit.Rate) (*model.Result, error) {
			runs++
			r := &model.Result{Status: "FAIL", Summary: metrics.Summary{Packets: int64(rate) / 10_000, ElapsedNs: 1e9},
				Environment: []model.Fact{{Name: "kernel", Value: "6.1.0"}, {Name: "link", Value: "relay"}}}
			if rate > c.holds {
				r.Status, r.State = "INVALID", validity.State{Validity: validity.Invalid, Doubt: "late"}
			}
			return r, nil
		}, func(float64, string) {})
		if runs != c.runs || f.State != c.state ||
			!strings.Contains(strings.ReplaceAll(f.Found, "\u00a0", " "), c.found) {
			t.Errorf("%s: %d runs, %+v", c.name, runs, f)
		}
	}
	f := capacity(func(unit.Rate) (*model.Result, error) { return nil, errors.New("no privilege") },
		func(float64, string) {})
	if f.State != "missing" || f.Found != "not measured: no privilege" || f.Remedy == "" {
		t.Errorf("%+v", f)
	}
}
