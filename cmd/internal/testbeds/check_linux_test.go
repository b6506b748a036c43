package testbeds

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/doctor"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/testbed"
)

// fit is a host with which nothing is wrong.
func fit() *station.Description {
	off := uint8(0)
	return &station.Description{Kernel: "6.1.0", Root: true, Programs: dut.Programs(),
		GIDs: []station.GID{{Network: "ens1"}},
		Device: station.Device{Name: "mlx5_0", Port: 1, Driver: "mlx5_core", Firmware: "16.35.2000", State: "ACTIVE",
			Layer: "Ethernet", Rate: "100 Gb/sec"},
		Network: station.Network{Name: "ens1", MTU: 9000, Up: true, Carrier: true, Speed: 100000,
			Pause: &station.Pause{}, PFC: &off}}
}

// Each thing that keeps a host from being judged on has its line, with the command that mends it.
func TestDescribe(t *testing.T) {
	on := uint8(0x18)
	h := &testbed.Host{Name: "dut1"}
	for _, c := range []struct {
		change      func(d *station.Description)
		state, want string
		remedy      string
	}{
		{func(*station.Description) {}, "", "", ""},
		{func(d *station.Description) { d.Root = false }, missing, "not root there", "add sudo to the host's line"},
		{func(d *station.Description) { d.Programs = d.Programs[1:] }, missing, "without ib_write_bw",
			"ssh dut1 apt-get install"},
		{func(d *station.Description) { d.Device.State = "DOWN" }, missing,
			"RNIC, mlx5_core firmware 16.35.2000; port 1 DOWN", "ssh dut1 ip link set ens1 up"},
		{func(d *station.Description) { d.Device.Layer = "InfiniBand" }, missing, "InfiniBand",
			"Ethernet as its link layer"},
		{func(d *station.Description) { d.GIDs[0].Network = "ens2" }, missing,
			"over ens2, and not over ens1", "interface="},
		{func(d *station.Description) { d.Network.MTU = 1500 }, limited, "MTU 1500, 100 Gb/s; packets of 4096",
			"ssh dut1 ip link set ens1 mtu 9000"},
		{func(d *station.Description) { d.Network.Carrier = false }, limited, "without carrier", "ip link set ens1 up"},
		{func(d *station.Description) { d.Network.Pause.Obeyed = true }, limited, "may hold frames back",
			"ethtool -A ens1"},
		{func(d *station.Description) { d.Network.PFC = &on }, limited, "on for priorities 3,4", "prio-pfc all:off"},
	} {
		d := fit()
		c.change(d)
		var wrong []doctor.Finding
		for _, f := range describe(h, d) {
			if f.State != ok {
				wrong = append(wrong, f)
			}
		}
		switch {
		case c.state == "" && len(wrong) == 0:
		case len(wrong) != 1 || wrong[0].State != c.state || !strings.Contains(wrong[0].Found, c.want) ||
			!strings.Contains(wrong[0].Remedy, c.remedy):
			t.Errorf("%+v; want %s, %q, %q", wrong, c.state, c.want, c.remedy)
		case (Failed([]Checked{{Host: "dut1", Findings: wrong}}) != nil) != (c.state == missing):
			t.Errorf("%+v: failed or not", wrong)
		}
	}
}
