package doctor

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
)

// hardware examines the devices, clocks and rights of this machine.
func hardware() []Finding {
	release := kernelRelease()
	m := machine{sys: os.DirFS("/sys"), modules: os.DirFS(filepath.Join("/lib/modules", release)), kernel: release,
		root:    os.Geteuid() == 0,
		program: func(name string) bool { _, err := exec.LookPath(name); return err == nil }, stamps: station.StampsOf}
	return append(m.hardware(), realtime())
}

func kernelRelease() string {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(name.Release[:])
}

// realtime tries whether this process may take a real-time priority, as the link does during a run.
func realtime() Finding {
	f := Finding{Name: "real-time priority", State: "ok",
		Found: "SCHED_FIFO may be taken: a busy machine delays the link less"}
	taken := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread and its priority end with this goroutine
		taken <- unix.SchedSetAttr(0,
			&unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0)
	}()
	err := <-taken
	if err == nil {
		return f
	}
	var limit unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_RTPRIO, &limit) // the limit stays 0 if it cannot be read
	f.State, f.Remedy = "limited", "run as root, or with CAP_SYS_NICE"
	f.Found = fmt.Sprintf("SCHED_FIFO may not be taken: %v, and RLIMIT_RTPRIO is %d", err, limit.Cur)
	return f
}
