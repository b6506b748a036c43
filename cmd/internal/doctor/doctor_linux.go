package doctor

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/container"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/lab"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/netem/injector"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
	"github.com/rdma-gauntlet/gauntlet/netem/tc"
)

// network examines the requirements of the benches with real packets.
func network() []Finding {
	privileged := topology.Privileged() == nil
	out := []Finding{privilege(privileged), guests(), containers()}
	s := tc.Probe()
	link := Finding{Name: "link", State: "ok", Found: "tc-netem of kernel " + s.Kernel}
	switch {
	case !privileged:
		link.State, link.Found = "limited", "not looked at: trying netem needs privilege"
		link.Remedy = "sudo gauntlet doctor"
	case !s.Netem:
		link.State, link.Found = "ok", "the user-space relay will be used: kernel "+s.Kernel+
			" has no netem ("+s.Reason+")"
		link.Remedy = "modprobe sch_netem, install the kernel's extra modules, or use --bench lab, if you " +
			"want the kernel's netem"
	case !s.Seed:
		link.State, link.Found = "limited", link.Found+"; "+s.Reason
		link.Remedy = "use --link relay for losses that repeat"
	}
	return append(out, link, injects(injector.Probe()), timers())
}

// injects reports whether the kernel can play faults and losses.
func injects(s injector.Support) Finding {
	if s.OK {
		return Finding{Name: "injector", State: "ok",
			Found: "faults and losses in the kernel (eBPF, " + s.Hook + "): --link ebpf, and by itself before netem"}
	}
	return Finding{Name: "injector", State: "limited", Found: "no faults and losses in the kernel: " + s.Reason,
		Remedy: "the relay does them; the injector needs Linux 5.12"}
}

// timers reports whether the timers of this machine are exact enough for a link in real time.
func timers() Finding {
	f := Finding{Name: "timers", State: "ok"}
	p50, p99, err := packetio.Late(2000)
	most := certify.DefaultBounds().DelayLeast
	switch {
	case err != nil:
		f.State, f.Found = "limited", err.Error()
		return f
	case p99 > most/2:
		f.State = "limited"
		f.Remedy = "runs in real time will be INVALID now and then, on short links often; use --bench sim, or " +
			"--bench lab --deterministic"
	}
	f.Found = fmt.Sprintf("a wait ends %s late, one in a hundred %s or more; a link may be %s late",
		p50.Std().Round(time.Microsecond), p99.Std().Round(time.Microsecond), most.Std())
	return f
}

// containers reports whether there is a container engine.
func containers() Finding {
	f := Finding{Name: "bench container", State: "ok"}
	v, err := container.Version(context.Background())
	switch {
	case err != nil:
		f.State, f.Found, f.Remedy = "missing", fault.OneLine(err), "apt-get install docker.io"
	case os.Geteuid() != 0:
		f.State, f.Found, f.Remedy = "limited", "Docker Engine "+v+"; not root: devices cannot be put into containers",
			"sudo gauntlet doctor"
	default:
		f.Found = "Docker Engine " + v
	}
	return f
}

// guests reports whether the lab can boot a guest.
func guests() Finding {
	f := Finding{Name: "bench lab", State: "missing"}
	if f.Found, f.Remedy = lab.Missing(); f.Found != "" {
		return f
	}
	k, err := lab.Latest()
	if err != nil {
		f.Found, f.Remedy = err.Error(), "gauntlet lab fetch"
		return f
	}
	f.State, f.Found = "ok", "a guest with kernel "+k.String()
	return f
}

// privilege reports how the netns bench will get its privilege.
func privilege(have bool) Finding {
	f := Finding{Name: "bench netns", State: "ok", Found: "root: namespaces, devices and packet sockets can be made"}
	if have {
		return f
	}
	f.Found = "not root: runs will use a user namespace"
	if err := topology.Rootless("process", "privileged"); err != nil {
		f.State, f.Found, f.Remedy = "missing", err.Error(), "run as root, or allow unprivileged user namespaces"
	}
	return f
}

// freeSpace returns the bytes free for this user on the file system of dir.
func freeSpace(dir string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}
