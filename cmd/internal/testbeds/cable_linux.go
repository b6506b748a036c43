package testbeds

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/doctor"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/testbed"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// Number of probes and times to wait for them.
const (
	probeTimes = 3
	probeTime  = time.Second
	settleTime = 150 * time.Millisecond // until the host watches for frames
)

// cable checks with frames in both directions that a host's port and a port of this machine are connected.
func cable(far *remote.Host, lab *testbed.File) doctor.Finding {
	h := far.At
	f := doctor.Finding{Name: "cable", State: missing, Remedy: "ip link set " + h.Cable + " mtu 9000 up"}
	near, err := net.InterfaceByName(h.Cable)
	switch {
	case err != nil:
		f.Found, f.Remedy = "this machine has no "+h.Cable+", or not in this network namespace",
			"ip link; correct cable= in the testbed file"
		return f
	case near.Flags&net.FlagUp == 0:
		f.Found = h.Cable + " of this machine is down"
		return f
	case os.Geteuid() != 0:
		f.State, f.Found, f.Remedy = limited, "not proved: frames need root here", "sudo gauntlet testbed check FILE"
		return f
	}
	arrived, err := fromThere(far, lab)
	if err == nil && arrived == h.Cable {
		err = toThere(far, near)
	}
	f.Remedy = ""
	switch {
	case err != nil:
		f.Found = fault.OneLine(err)
	case arrived == "":
		f.Found, f.Remedy = fmt.Sprintf("no frame of %s of %s arrived here at %s", h.Interface, h.Name, cables(lab)),
			"look at the cable; correct interface= and cable= in the testbed file"
	case arrived != h.Cable:
		f.Found, f.Remedy = fmt.Sprintf("%s of %s is at the other end of %s, and not of %s", h.Interface, h.Name,
			arrived, h.Cable), "change the cables, or cable= in the testbed file"
	case near.MTU < leastMTU:
		f.State, f.Remedy = limited, "ip link set "+h.Cable+" mtu 9000"
		f.Found = fmt.Sprintf("frames pass both ways between %s and %s here, whose MTU is %d", h.Interface,
			h.Cable, near.MTU)
	default:
		f.State, f.Found = ok, fmt.Sprintf("frames pass both ways between %s and %s here, MTU %d%s%s", h.Interface,
			h.Cable, near.MTU, speed(h.Cable), stamps(h.Cable))
	}
	return f
}

func speed(name string) string {
	text, _ := os.ReadFile(filepath.Join("/sys/class/net", name, "speed")) // some devices do not report a speed
	if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && n > 0 {
		return fmt.Sprintf(", %g Gb/s", float64(n)/1000)
	}
	return ""
}

// stamps says whether the hardware of a port here stamps the frames that it receives.
func stamps(name string) string {
	s, err := station.StampsOf(name)
	if err != nil || !s.Received || !s.All || s.Clock < 0 {
		return ", without time stamps of the hardware"
	}
	return fmt.Sprintf(", time stamps by PTP clock %d", s.Clock)
}

func cables(lab *testbed.File) string {
	var list []string
	for _, h := range lab.Hosts {
		list = append(list, h.Cable)
	}
	return strings.Join(list, ", ")
}

// fromThere has a host send probes, and returns the cable of the testbed at which they arrive; "" if they arrive at
// none.
func fromThere(far *remote.Host, lab *testbed.File) (at string, err error) {
	clock := packetio.NewClock(packetio.Monotonic())
	ports := map[string]*packetio.Port{}
	defer func() {
		for _, p := range ports {
			_ = p.Close() // the port was only read
		}
	}()
	for _, h := range lab.Hosts {
		p, err := packetio.Open(h.Cable, clock, packetio.Options{Promiscuous: true})
		if err != nil {
			if h.Name == far.At.Name {
				return "", err
			}
			continue // the check of that host reports the error
		}
		ports[h.Cable] = p
	}
	probe := remote.NewProbe(nil)
	for range probeTimes {
		if err := far.SendFrames(probe.Frame); err != nil {
			return "", err
		}
		for until := time.Now().Add(probeTime / probeTimes); time.Now().Before(until); {
			for name, p := range ports {
				if seen, err := probe.Seen(p); seen || err != nil {
					return name, err
				}
			}
			_ = packetio.NewWaiter(clock).Wait(clock.Now().Add(5 * vtime.Millisecond)) // to look early does no harm
		}
	}
	return "", nil
}

// toThere sends probes to a host, which watches for them.
func toThere(far *remote.Host, near *net.Interface) error {
	port, err := packetio.Open(near.Name, packetio.NewClock(packetio.Monotonic()), packetio.Options{})
	if err != nil {
		return err
	}
	defer port.Close()
	probe := remote.NewProbe(near.HardwareAddr)
	type seen struct {
		n   int
		err error
	}
	result := make(chan seen, 1)
	go func() {
		n, err := far.WatchFrames(probe.Mark, settleTime*(probeTimes+1)+probeTime)
		result <- seen{n, err}
	}()
	for range probeTimes {
		time.Sleep(settleTime)
		if _, err := port.Send([][]byte{probe.Frame}); err != nil {
			return err
		}
	}
	switch s := <-result; {
	case s.err != nil:
		return s.err
	case s.n == 0:
		return fmt.Errorf("frames from %s of %s arrive here at %s, but none of %s arrives there", far.At.Interface,
			far.At.Name, near.Name, near.Name)
	}
	return nil
}
