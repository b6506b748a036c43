package lab

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// portName is the name of the virtio-serial port of the results, on host and guest.
const portName = "gauntlet.results"

// GuestMain is the first process of a guest: it makes the kernel usable, runs the command of the Order, sends its
// outcome, and switches the machine off. It returns only when it could not report its own error; then the kernel
// panics, because its first process has ended, and the host finds the reason on the console.
func GuestMain() error {
	if os.Getpid() != 1 {
		return errors.New("lab: process guest: is the first process of a guest; use gauntlet lab run")
	}
	if err := mountAll(); err != nil {
		return err
	}
	order, err := inside()
	if err != nil || order == nil {
		return errors.Join(err, errors.New("lab: the guest has no order"))
	}
	failed := loadModules(order.Modules)
	port, err := openPort()
	if err != nil {
		return errors.Join(failed, err)
	}
	if err := writeFrame(port, hello, nil); err != nil {
		return fmt.Errorf("lab: results: %w", err)
	}
	if err := conclude(port, order, failed); err != nil {
		return err
	}
	// With -no-reboot this ends QEMU. Switching off would need ACPI, which not every machine type has.
	return unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
}

// conclude runs the command, unless something failed before, and reports.
func conclude(port *os.File, o *Order, failed error) error {
	r := Report{Code: -1}
	if failed == nil {
		r.Code, failed = o.run(port)
		r.Full = full("/")
		// also after a command that was cut short: the files that it had written
		failed = cmp.Or(failed, pack(framer{port, files}, o.Outputs))
	}
	if failed != nil {
		r.Text = failed.Error()
	}
	r.Up, r.Idle = uptime()
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return writeFrame(port, report, raw)
}

// full reports whether less than a hundredth of a file system is left, here a part of the guest's memory.
func full(path string) bool {
	var s unix.Statfs_t
	return unix.Statfs(path, &s) == nil && s.Bavail < s.Blocks/100
}

// mountAll mounts the file systems that programs expect. /tmp and the others are in memory already.
func mountAll() error {
	for _, m := range []struct{ kind, at string }{{"devtmpfs", "/dev"}, {"proc", "/proc"}, {"sysfs", "/sys"},
		{"tracefs", "/sys/kernel/tracing"}} {
		// A kernel may lack tracefs.
		if err := unix.Mount(m.kind, m.at, m.kind, 0, ""); err != nil && m.kind != "tracefs" {
			return fmt.Errorf("lab: mount %s: %w", m.at, err)
		}
	}
	for _, link := range [][2]string{{"/proc/self/fd", "/dev/fd"}, {"/proc/self/fd/0", "/dev/stdin"},
		{"/proc/self/fd/1", "/dev/stdout"}, {"/proc/self/fd/2", "/dev/stderr"}} {
		if err := os.Symlink(link[0], link[1]); err != nil {
			return fmt.Errorf("lab: %w", err)
		}
	}
	return errors.Join(loopback(), prefer())
}

// loopback switches the loopback interface on.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("lab: loopback: %w", err)
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("lab: loopback: %w", err)
	}
	request.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("lab: loopback: %w", err)
	}
	return nil
}

// prefer gives the kernel's network threads priority over all others. Netem and the virtual wires run in them, and a
// link that must wait until the endpoints release a processor does not behave as its Spec says.
func prefer() error {
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	for _, n := range names {
		raw, err := os.ReadFile(n)
		if err != nil || !strings.HasPrefix(string(raw), "ksoftirqd/") {
			continue // the process has ended, or is another one
		}
		var pid int
		if _, err := fmt.Sscanf(n, "/proc/%d/", &pid); err != nil {
			return fmt.Errorf("lab: %s: %w", n, err)
		}
		// the relay's loop has 3, the endpoints 1
		first := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 2}
		if err := unix.SchedSetAttr(pid, &first, 0); err != nil {
			return fmt.Errorf("lab: priority of %s: %w", strings.TrimSpace(string(raw)), err)
		}
	}
	return nil
}

// loadModules loads every module that it can, so that the port exists even when another module is rejected.
func loadModules(paths []string) error {
	var errs []error
	for _, p := range paths {
		f, err := os.Open(p)
		if err == nil {
			err = unix.FinitModule(int(f.Fd()), "", 0)
			_ = f.Close() // read only
		}
		if err != nil && !errors.Is(err, unix.EEXIST) {
			errs = append(errs, fmt.Errorf("lab: load %s: %w", filepath.Base(p), err))
		}
	}
	return errors.Join(errs...)
}

// openPort finds the port by the name that the host gave it.
func openPort() (*os.File, error) {
	const class = "/sys/class/virtio-ports"
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		names, _ := filepath.Glob(class + "/*/name") // none until the host has answered
		for _, n := range names {
			if raw, err := os.ReadFile(n); err == nil && strings.TrimSpace(string(raw)) == portName {
				return os.OpenFile(filepath.Join("/dev", filepath.Base(filepath.Dir(n))), os.O_WRONLY, 0)
			}
		}
	}
	return nil, errors.New("lab: the guest has no port " + portName)
}

// run runs the command and returns its exit code; an error means that it could not be run.
func (o *Order) run(port *os.File) (int, error) {
	if err := o.folders(); err != nil {
		return -1, fmt.Errorf("lab: %w", err)
	}
	for _, setting := range o.Env {
		name, value, _ := strings.Cut(setting, "=")
		if err := os.Setenv(name, value); err != nil {
			return -1, fmt.Errorf("lab: environment: %w", err)
		}
	}
	ctx := context.Background()
	if o.Limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Limit, stillRunning(o.Limit))
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, o.Command[0], o.Command[1:]...)
	var then string
	cmd.Cancel = func() error {
		then = processes()
		return cmd.Process.Signal(unix.SIGTERM)
	}
	cmd.WaitDelay = farewell // a process that outlives the command would hold its output open
	cmd.Dir = o.Dir
	cmd.Stdout, cmd.Stderr = framer{port, stdout}, framer{port, stderr}
	if o.Shell {
		console, err := os.OpenFile("/dev/ttyS0", os.O_RDWR, 0)
		if err != nil {
			return -1, fmt.Errorf("lab: console: %w", err)
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = console, console, console
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	}
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		_ = unix.Kill(-1, unix.SIGKILL) // all but the first process; none may be left
		return -1, fmt.Errorf("lab: guest: %w of its time; processes then: %s", context.Cause(ctx), then)
	case errors.As(err, &ended) && ended.Sys().(syscall.WaitStatus).Signaled():
		return 128 + int(ended.Sys().(syscall.WaitStatus).Signal()), nil
	case errors.As(err, &ended):
		return ended.ExitCode(), nil
	case err != nil:
		return -1, fmt.Errorf("lab: %w; give it to the guest with --with", err)
	}
	return 0, nil
}

// folders makes the working folder and those of the outputs, which are there on the host.
func (o *Order) folders() error {
	list := []string{o.Dir}
	for _, path := range o.Outputs {
		list = append(list, filepath.Dir(path))
	}
	for _, path := range list {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// farewell bounds the time that a command which has reached its limit has to report its work.
const farewell = 30 * time.Second

// processes lists the running programs, with their states and processor times, so that the message about a guest that
// hung names the program that hung. Of the kernel's threads, which have no memory, it lists only those that have used
// much processor time.
func processes() string {
	const much = 10 * time.Second
	var list []string
	names, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well formed
	for _, n := range names {
		raw, _ := os.ReadFile(n) // empty for a process that has ended
		if p, ok := parseStat(string(raw)); ok && (p.memory > 0 || p.busy >= much) {
			list = append(list, fmt.Sprintf("%s %s %s", quote.Line(p.name, quote.Sentence), p.state, p.busy))
		}
	}
	return strings.Join(list, ", ")
}

// stat is a line of /proc/PID/stat (proc(5)).
type stat struct {
	name, state string
	busy        time.Duration // of processors, in user mode and in the kernel
	memory      uint64        // virtual, in bytes
}

// parseStat reports whether a line is whole. A name may hold anything, so that only the last bracket ends it.
func parseStat(line string) (stat, bool) {
	const state, user, system, memory = 0, 11, 12, 20 // fields after the name
	const tick = 10 * time.Millisecond                // USER_HZ is 100 on every Linux
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return stat{}, false
	}
	f := strings.Fields(line[end+1:])
	if len(f) <= memory {
		return stat{}, false
	}
	u, err1 := strconv.ParseUint(f[user], 10, 64)
	s, err2 := strconv.ParseUint(f[system], 10, 64)
	m, err3 := strconv.ParseUint(f[memory], 10, 64)
	return stat{line[open+1 : end], f[state], time.Duration(u+s) * tick, m}, cmp.Or(err1, err2, err3) == nil
}

// uptime returns how long the kernel has run, and how long its processors were idle.
func uptime() (up, idle time.Duration) {
	f, err := os.Open("/proc/uptime")
	if err != nil {
		return 0, 0
	}
	defer f.Close()
	var u, i float64
	if _, err := fmt.Fscan(bufio.NewReader(f), &u, &i); err != nil {
		return 0, 0
	}
	return time.Duration(u * float64(time.Second)), time.Duration(i * float64(time.Second))
}
