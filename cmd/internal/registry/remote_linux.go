package registry

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/testbed"
)

// Remote is the bench around a device on a host of a testbed: this machine is the link, the peer and both taps.
type Remote struct {
	*netns.Bench
	Host   *remote.Host
	Device string // what the device is called in Specs and waivers: one of dut.Names
}

// openRemote logs in to the host that a testbed file names.
func openRemote(ctx context.Context, h Hosted) (*Remote, error) {
	if h.File == "" {
		return nil, fault.Usage(errors.New("--bench remote: which hosts? add --testbed FILE; see: gauntlet help testbed"))
	}
	lab, err := testbed.ReadFile(h.File)
	if err != nil {
		return nil, fault.Usage(err)
	}
	host, err := lab.Find(h.Host)
	if err != nil {
		return nil, fault.Usage(err)
	}
	if os.Geteuid() != 0 {
		return nil, fault.Broken(errors.New("--bench remote: frames of a real network device need root on this machine"))
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fault.Broken(err)
	}
	far, err := remote.Connect(ctx, remote.Options{Host: *host, Config: lab.SSHConfig, Self: self, Keep: h.Keep})
	if err != nil {
		return nil, fault.Broken(err)
	}
	d, err := far.Describe()
	if err == nil && !d.Root {
		err = fmt.Errorf("remote: host %s: not root there; log in as root, or add sudo to its line in %s", host.Name, h.File)
	}
	if err != nil {
		_ = far.Close() // the first error says more
		return nil, fault.Broken(err)
	}
	name := dut.RNIC
	if d.Device.Driver == station.SoftRoCE {
		name = dut.Name
	}
	return &Remote{&netns.Bench{Self: self}, far, name}, nil
}

// Close ends the connection, and all on the host.
func (r *Remote) Close() error { return r.Host.Close() }

var _ bench.Checker = (*Remote)(nil)

// OpenHosted makes the remote bench; device is what its device is called in Specs and waivers. Done ends all on the host.
func OpenHosted(ctx context.Context, h Hosted) (b bench.Bench, device string, done func() error, err error) {
	r, err := openRemote(ctx, h)
	if err != nil {
		return nil, "", nil, err
	}
	return r, r.Device, r.Close, nil
}
