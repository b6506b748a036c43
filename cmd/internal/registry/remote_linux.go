package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/testbed"
)

// Remote is the bench around devices on hosts of a testbed. With one host this machine is the link, the peer and both
// taps; with two it is the link between them, and both taps.
type Remote struct {
	*netns.Bench
	hosts []hosted // one host, or those at A and at B
}

// hosted is a host with a device.
type hosted struct {
	*remote.Host
	device string // name of the device in Specs and waivers, one of dut.Names
}

var _ bench.Checker = (*Remote)(nil)

// OpenHosted makes the remote bench around a number of devices, and returns their names in Specs and waivers. Done ends
// everything on their hosts.
func OpenHosted(ctx context.Context, h Hosted,
	devices int) (b bench.Bench, names []string, done func() error, err error) {
	if h.File == "" {
		return nil, nil, nil, fault.Usage(errors.New(
			"--bench remote: which hosts? add --testbed FILE; see: gauntlet help testbed"))
	}
	lab, err := testbed.ReadFile(h.File)
	if err != nil {
		return nil, nil, nil, fault.Usage(err)
	}
	chosen, err := lab.Choose(h.Host, devices)
	if err != nil {
		return nil, nil, nil, fault.Usage(err)
	}
	if os.Geteuid() != 0 {
		return nil, nil, nil, fault.Broken(errors.New(
			"--bench remote: frames of a real network device need root on this machine"))
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, nil, fault.Broken(err)
	}
	r := &Remote{Bench: &netns.Bench{Self: self}, hosts: make([]hosted, len(chosen))}
	failed := make([]error, len(chosen))
	var wait sync.WaitGroup
	for i, host := range chosen {
		wait.Go(func() {
			failed[i] = r.hosts[i].open(ctx, remote.Options{Host: *host, Config: lab.SSHConfig,
				Self: self, Keep: h.Keep})
		})
	}
	wait.Wait()
	if err := cmp.Or(failed...); err != nil {
		_ = r.Close() // the first error says more
		return nil, nil, nil, fault.Broken(err)
	}
	for i := range r.hosts {
		names = append(names, r.hosts[i].device)
	}
	return r, names, r.Close, nil
}

// open logs in to a host and examines its device.
func (h *hosted) open(ctx context.Context, o remote.Options) (err error) {
	if h.Host, err = remote.Connect(ctx, o); err != nil {
		return err
	}
	d, err := h.Identify()
	if err != nil {
		return err
	}
	if !d.Root {
		return fmt.Errorf("remote: host %s: not root there; log in as root, or add sudo to its "+
			"line in the testbed file", o.Host.Name)
	}
	h.device = dut.RNIC
	if d.Device.Driver == station.SoftRoCE {
		h.device = dut.Name
	}
	return nil
}

// Close ends everything on the hosts, and the connections.
func (r *Remote) Close() (first error) {
	for _, h := range r.hosts {
		if h.Host != nil {
			first = cmp.Or(first, h.Host.Close())
		}
	}
	return first
}

// Places returns the host of each side whose implementation is a device. A single device is on the first host,
// whichever its side; of two, the one at B is on the second.
func (r *Remote) Places(impl [2]string) (places [2]station.Place, err error) {
	next := 0
	for side, name := range impl {
		if !dut.Known(name) {
			continue
		}
		if next == len(r.hosts) {
			return places, fmt.Errorf(
				"%s at both ends: a device stands at one end of a cable; name two hosts of the testbed", name)
		}
		h := &r.hosts[next]
		if h.device != name {
			return places, fmt.Errorf("--impl %s: the device of host %s is called %s", strings.Join(impl[:], ","),
				h.At.Name, h.device)
		}
		places[side] = h.Host
		next++
	}
	return places, nil
}
