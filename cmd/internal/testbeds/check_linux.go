package testbeds

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/doctor"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/testbed"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Checked is the result of the check of one host.
type Checked struct {
	Host     string           `json:"host"`
	Findings []doctor.Finding `json:"findings"`
	// nil if the host was not reached, or lacks the device
	Description *station.Description `json:"description,omitempty"`
}

// Options say how hosts are accessed.
type Options struct {
	Keep bool // leave the binary on the host for the next time
}

// Connect logs in to a host of a testbed.
func Connect(ctx context.Context, lab *testbed.File, h *testbed.Host, o Options) (*remote.Host, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fault.Broken(err)
	}
	far, err := remote.Connect(ctx, remote.Options{Host: *h, Config: lab.SSHConfig, Self: self, Keep: o.Keep})
	return far, fault.Broken(err)
}

// Check checks all hosts of a testbed at the same time. It undoes the changes that it makes there, such as the address
// whose GID it looks up.
func Check(ctx context.Context, lab *testbed.File, o Options) []Checked {
	all := make([]Checked, len(lab.Hosts))
	var wait sync.WaitGroup
	for i := range lab.Hosts {
		wait.Go(func() { all[i] = checkHost(ctx, lab, &lab.Hosts[i], o) })
	}
	wait.Wait()
	return all
}

// Failed returns the first finding that makes a host unfit for judging; nil if there is none.
func Failed(all []Checked) error {
	for _, c := range all {
		for _, f := range c.Findings {
			if f.State == missing {
				return fmt.Errorf("testbed: host %s: %s: %s", c.Host, f.Name, f.Found)
			}
		}
	}
	return nil
}

// The states of a finding, as of package doctor.
const (
	ok      = "ok"
	limited = "limited"
	missing = "missing"
)

func checkHost(ctx context.Context, lab *testbed.File, h *testbed.Host, o Options) Checked {
	c := Checked{Host: h.Name}
	began := time.Now()
	far, err := Connect(ctx, lab, h, o)
	if err != nil {
		c.add("ssh", missing, fault.OneLine(err), "ssh "+h.Name+" true")
		return c
	}
	defer far.Close()
	c.add("ssh", ok, fmt.Sprintf("supervisor there after %s", time.Since(began).Round(10*time.Millisecond)), "")
	d, err := far.Describe()
	if err != nil {
		c.add("device", missing, fault.OneLine(err), fmt.Sprintf("ssh %s rdma link", h.Name))
		return c
	}
	c.Description = d
	c.Findings = append(c.Findings, describe(h, d)...)
	c.Findings = append(c.Findings, clock(far), address(far), cable(far, lab))
	return c
}

func (c *Checked) add(name, state, found, remedy string) {
	c.Findings = append(c.Findings, doctor.Finding{Name: name, State: state, Found: found, Remedy: remedy})
}

// clock compares a host's clock with this machine's. The result is for information: packets are ordered by the taps
// here.
func clock(far *remote.Host) doctor.Finding {
	offset, err := far.Clock(20)
	if err != nil {
		return doctor.Finding{Name: "clock", State: missing, Found: fault.OneLine(err)}
	}
	return doctor.Finding{Name: "clock", State: ok,
		Found: fmt.Sprintf("%s ahead of this machine's, known to ± %s; all times are those of the taps here",
			offset.Offset.Round(10*time.Microsecond), offset.Error.Round(10*time.Microsecond))}
}

// address gives the host the address of a run, as either side, and reports its GIDs.
func address(far *remote.Host) doctor.Finding {
	f := doctor.Finding{Name: "address", State: ok}
	var found []string
	for _, side := range []trace.Side{trace.A, trace.B} {
		a, detach, err := far.Attach(side)
		if err == nil {
			found = append(found, fmt.Sprintf("GID %d as %s", a.GID, side))
			err = detach()
		}
		if err != nil {
			return doctor.Finding{Name: f.Name, State: missing, Found: fault.OneLine(err),
				Remedy: "ssh " + far.At.Name + " ip addr show dev " + far.At.Interface}
		}
	}
	f.Found = "of a run, given and taken away again: " + strings.Join(found, ", ")
	return f
}

// describe checks a host's description of itself.
func describe(h *testbed.Host, d *station.Description) (list []doctor.Finding) {
	add := func(name, state, found, remedy string) {
		list = append(list, doctor.Finding{Name: name, State: state, Found: found, Remedy: remedy})
	}
	on := func(command string) string { return "ssh " + h.Name + " " + command }
	add("kernel", ok, d.Kernel+", time by "+d.Clock, "")
	if !d.Root {
		add("rights", missing, "not root there: no address can be given, no frame sent",
			"log in as root, or add sudo to the host's line")
	}
	if lack := lacking(d.Programs); len(lack) > 0 {
		add("tools", missing, "without "+strings.Join(lack, " "),
			on("apt-get install -y perftest rdmacm-utils ibverbs-utils ibverbs-providers"))
	} else {
		add("tools", ok, "perftest, rping and the pingpongs of libibverbs", "")
	}
	dev, net := &d.Device, &d.Network
	what := dev.Kind()
	if dev.Board != "" {
		what += ", board " + dev.Board
	}
	what += fmt.Sprintf("; port %d %s, %s, %s, %d counters", dev.Port, dev.State, dev.Layer, dev.Rate, dev.Counters)
	switch {
	case dev.Layer != "Ethernet":
		add("device "+dev.Name, missing, what, "a port of RoCE has Ethernet as its link layer")
	case dev.State != "ACTIVE":
		add("device "+dev.Name, missing, what, on("ip link set "+net.Name+" up"))
	default:
		add("device "+dev.Name, ok, what, "")
	}
	if over := others(d); over != "" {
		add("port", missing, fmt.Sprintf("port %d of %s is over %s, and not over %s", dev.Port, dev.Name, over,
			net.Name), "correct interface= in the testbed file")
	}
	return append(list, settings(h, d)...)
}

// leastMTU is the interface MTU that a path MTU of 4096 needs.
const leastMTU = 4096 + 128

// settings checks the settings of a network device: a port that holds frames back hides the behaviour under test.
func settings(h *testbed.Host, d *station.Description) (list []doctor.Finding) {
	net := &d.Network
	add := func(name, found, remedy string) {
		f := doctor.Finding{Name: name, State: ok, Found: found}
		if remedy != "" {
			f.State, f.Remedy = limited, "ssh "+h.Name+" "+remedy
		}
		list = append(list, f)
	}
	speed := "speed not told"
	if net.Speed > 0 {
		speed = fmt.Sprintf("%g Gb/s", float64(net.Speed)/1000)
	}
	found, remedy := fmt.Sprintf("MTU %d, %s", net.MTU, speed), ""
	switch {
	case !net.Up, !net.Carrier:
		found, remedy = found+", down or without carrier", "ip link set "+net.Name+" up"
	case net.MTU < leastMTU:
		found, remedy = found+"; packets of 4096 bytes do not fit", "ip link set "+net.Name+" mtu 9000"
	}
	add("interface "+net.Name, found, remedy)
	switch p := net.Pause; {
	case p == nil:
		add("pause", "no such setting", "")
	case p.Sent || p.Obeyed:
		add("pause", "on: the port may hold frames back", "ethtool -A "+net.Name+" autoneg off rx off tx off")
	default:
		add("pause", "off", "")
	}
	switch {
	case net.PFC == nil:
		add("PFC", "not told", "")
	case *net.PFC != 0:
		add("PFC", fmt.Sprintf("on for priorities %s: the port may hold frames back", priorities(*net.PFC)),
			"dcb pfc set dev "+net.Name+" prio-pfc all:off")
	default:
		add("PFC", "off", "")
	}
	ecn := "DCQCN: not told by this driver"
	if on := d.Device.ECN; on != nil {
		ecn = fmt.Sprintf("DCQCN: answers marks on priorities [%s], slows down on [%s]", on["np"], on["rp"])
	}
	add("ECN", ecn, "")
	stamps := "of the port there: by software"
	if s := net.Stamps; s != nil && s.Sent && s.Received {
		stamps = "of the port there: by hardware, of PTP frames only where they arrive"
		if s.All {
			stamps = "of the port there: by hardware, in and out"
		}
	}
	add("time stamps", stamps+"; those of a run are the kernel's here", "")
	return list
}

func priorities(mask uint8) string {
	var list []string
	for i := range 8 {
		if mask&(1<<i) != 0 {
			list = append(list, fmt.Sprint(i))
		}
	}
	return strings.Join(list, ",")
}

// lacking lists the stock tools that are missing.
func lacking(have []string) (list []string) {
	there := map[string]bool{}
	for _, name := range have {
		there[name] = true
	}
	for _, name := range dut.Programs() {
		if !there[name] {
			list = append(list, name)
		}
	}
	return list
}

// others names the network device of the port's GIDs if it is another than the testbed file says; "" if it is the same,
// or no GID is reported.
func others(d *station.Description) (name string) {
	for _, g := range d.GIDs {
		if g.Network == d.Network.Name {
			return ""
		}
		name = g.Network
	}
	return name
}
