package station

import (
	"errors"
	"io/fs"
	"net/netip"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// sys is the /sys of a host with a ConnectX port and soft-RoCE.
func sys() fstest.MapFS {
	const mlx, rxe = "class/infiniband/mlx5_0/", "class/infiniband/rxe0/"
	m := fstest.MapFS{}
	for name, text := range map[string]string{
		mlx + "fw_ver": "16.35.2000\n", mlx + "board_id": "MT_0000000012\n", mlx + "device/vendor": "0x15b3\n",
		mlx + "device/device": "0x101d\n", mlx + "ports/1/state": "4: ACTIVE\n",
		mlx + "ports/1/link_layer": "Ethernet\n",
		mlx + "ports/1/rate":       "100 Gb/sec (4X EDR)\n", mlx + "ports/1/hw_counters/out_of_sequence": "3\n",
		mlx + "ports/1/counters/port_rcv_packets": "7\n",
		mlx + "ports/1/gids/0":                    "fe80:0000:0000:0000:ba59:9fff:fe00:0001\n",
		mlx + "ports/1/gid_attrs/types/0":         "IB/RoCE v1\n", mlx + "ports/1/gid_attrs/ndevs/0": "ens1\n",
		mlx + "ports/1/gids/1":            "0000:0000:0000:0000:0000:ffff:0a4d:0001\n",
		mlx + "ports/1/gid_attrs/types/1": "IB/RoCE v1\n", mlx + "ports/1/gid_attrs/ndevs/1": "ens1\n",
		mlx + "ports/1/gids/2":            "0000:0000:0000:0000:0000:ffff:0a4d:0001\n",
		mlx + "ports/1/gid_attrs/types/2": "RoCE v2\n", mlx + "ports/1/gid_attrs/ndevs/2": "ens1\n",
		mlx + "ports/1/gids/3": "0000:0000:0000:0000:0000:0000:0000:0000\n",
		rxe + "parent":         "eth0\n", rxe + "ports/1/state": "1: DOWN\n",
		"class/net/ens1/mtu": "1500\n", "class/net/ens1/flags": "0x1003\n", "class/net/ens1/carrier": "1\n",
		"class/net/ens1/speed":   "100000\n",
		"class/net/ens1/address": "b8:59:9f:00:00:01\n", "class/net/ens1/statistics/rx_packets": "12\n",
		"class/net/ens1/ecn/roce_np/enable/0": "0\n", "class/net/ens1/ecn/roce_np/enable/3": "1\n",
		"class/net/ens1/ecn/roce_rp/enable/3": "0\n",
	} {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	m[mlx+"device/driver"] = &fstest.MapFile{Data: []byte("../../../../bus/pci/drivers/mlx5_core"),
		Mode: fs.ModeSymlink | 0o777}
	return m
}

func TestReadDevice(t *testing.T) {
	got, err := readDevice(sys(), "mlx5_0", 1, "ens1")
	want := Device{Name: "mlx5_0", Port: 1, Driver: "mlx5_core", Firmware: "16.35.2000", Board: "MT_0000000012",
		Vendor: "0x15b3", Part: "0x101d", State: "ACTIVE", Layer: "Ethernet",
		Rate: "100 Gb/sec (4X EDR)", Counters: 2, ECN: map[string]string{"np": "3", "rp": ""}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	identity := [][2]string{{"vendor", "0x15b3"}, {"part", "MT_0000000012"}, {"firmware", "16.35.2000"},
		{"driver", "mlx5_core"}}
	if d := cmp.Diff(identity, got.Identity()); d != "" {
		t.Error(d)
	}
	if soft, err := readDevice(sys(), "rxe0", 1, "eth0"); err != nil || soft.Driver != SoftRoCE ||
		soft.State != "DOWN" || soft.ECN != nil {
		t.Errorf("%+v, %v", soft, err)
	}
	var missing *Missing
	for _, c := range []struct {
		name string
		port int
	}{{"mlx5_1", 1}, {"mlx5_0", 2}} {
		if _, err := readDevice(sys(), c.name, c.port, "ens1"); !errors.As(err, &missing) {
			t.Errorf("%s port %d: %v", c.name, c.port, err)
		}
	}
}

func TestReadNetwork(t *testing.T) {
	got, err := readNetwork(sys(), "ens1")
	want := Network{Name: "ens1", MAC: "b8:59:9f:00:00:01", MTU: 1500, Up: true, Carrier: true, Speed: 100000}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
}

// FindGID returns the RoCEv2 entry of two GIDs with one address, and skips empty entries.
func TestFindGID(t *testing.T) {
	a := netip.MustParseAddr("10.77.0.1")
	if i, err := FindGID(sys(), "mlx5_0", 1, a); err != nil || i != 2 {
		t.Errorf("%d, %v; want 2", i, err)
	}
	for device, port := range map[string]int{"mlx5_0": 2, "rxe0": 1} {
		if i, err := FindGID(sys(), device, port, a); err == nil {
			t.Errorf("%s port %d: %d", device, port, i)
		}
	}
	if list, err := GIDs(sys(), "mlx5_0", 1); err != nil || len(list) != 3 {
		t.Errorf("%v, %v", list, err)
	}
}

func TestCountersOf(t *testing.T) {
	want := Counters{"hw/out_of_sequence": 3, "port/port_rcv_packets": 7, "net/rx_packets": 12}
	if d := cmp.Diff(want, CountersOf(sys(), "mlx5_0", 1, "ens1")); d != "" {
		t.Error(d)
	}
}
