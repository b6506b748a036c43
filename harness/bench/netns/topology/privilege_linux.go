package topology

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// remedy is the end of every error that more privilege would cure.
const remedy = "run as root, or allow unprivileged user namespaces"

// reexeced marks a process that Reexec started, so that it never starts another one.
const reexeced = "GAUNTLET_USER_NAMESPACE=1"

// Privileged returns nil when the process may create namespaces, devices and packet sockets, else an error with the
// remedy.
func Privileged() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("netns: read capabilities: %w", err)
	}
	for _, c := range []struct {
		bit  uint
		name string
	}{{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}, {unix.CAP_NET_ADMIN, "CAP_NET_ADMIN"}, {unix.CAP_NET_RAW, "CAP_NET_RAW"}} {
		if data[0].Effective&(1<<c.bit) == 0 {
			return fmt.Errorf("netns: privilege missing: no %s; %s", c.name, remedy)
		}
	}
	return nil
}

// Reexec gives the process the privilege that it lacks. If the process has the privilege, replaced is false and the
// caller goes on. Otherwise it runs the same binary with the same arguments as root of a new user namespace, passes
// standard streams and signals through, and returns its exit code with replaced set: the caller exits with that code.
func Reexec() (code int, replaced bool, err error) {
	lack := Privileged()
	if lack == nil {
		return 0, false, nil
	}
	for _, e := range os.Environ() {
		if e == reexeced {
			return 0, false, fmt.Errorf("netns: the user namespace grants no capabilities: %w"+
				" (Ubuntu: sysctl kernel.apparmor_restrict_unprivileged_userns=0)", lack)
		}
	}
	runtime.LockOSThread() // the child's parent-death signal is tied to this thread
	defer runtime.UnlockOSThread()
	cmd := userNamespace("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	if err := cmd.Start(); err != nil {
		return 0, false, forbidden(err)
	}
	code, err = relaySignals(cmd)
	return code, err == nil, err
}

// Rootless reports whether Reexec would succeed. It starts this binary in a user namespace with arguments that make it
// return Privileged's error.
func Rootless(args ...string) error {
	runtime.LockOSThread() // the child's parent-death signal is tied to this thread
	defer runtime.UnlockOSThread()
	cmd := userNamespace("/proc/self/exe", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, nil, nil
	err := cmd.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return errors.New("netns: user namespaces grant no capabilities (Ubuntu: sysctl " +
			"kernel.apparmor_restrict_unprivileged_userns=0)")
	}
	if err != nil {
		return forbidden(err)
	}
	return nil
}

// userNamespace is the command as root of a new user and network namespace.
func userNamespace(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), reexeced)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
		Setpgid:     true, // an interrupt from the terminal reaches this process only, and is passed on once
	}
	return cmd
}

// forbidden names the setting that disables user namespaces.
func forbidden(err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC):
		return fmt.Errorf("netns: user namespaces are disabled: %w; run as root, or sysctl "+
			"user.max_user_namespaces=10000", err)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("netns: user namespaces are forbidden: %w; run as root, or sysctl "+
			"kernel.unprivileged_userns_clone=1", err)
	}
	return fmt.Errorf("netns: start in a user namespace: %w; run as root", err)
}

// relaySignals waits for the child, passing on the signals that ask a program to end.
func relaySignals(cmd *exec.Cmd) (int, error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGINT)
	defer signal.Stop(signals)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // it may have ended meanwhile
		case err := <-ended:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				return 0, fmt.Errorf("netns: wait for the process in the user namespace: %w", err)
			}
			return exitCode(cmd.ProcessState), nil
		}
	}
}

// exitCode follows the shell: 128 and the signal's number for a killed process.
func exitCode(s *os.ProcessState) int {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}
