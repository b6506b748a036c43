package lab

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// emulator is the QEMU that is run.
const emulator = "qemu-system-x86_64"

// Missing names a requirement of guests, other than a kernel, that this machine lacks, and the remedy; "" means that it
// lacks none.
func Missing() (what, remedy string) {
	if runtime.GOARCH != "amd64" {
		return "guests are amd64, as the program in them must be; this machine is " + runtime.GOARCH,
			"use another machine"
	}
	if _, err := exec.LookPath(emulator); err != nil {
		return emulator + " is not installed", "apt-get install qemu-system-x86"
	}
	return "", ""
}

// machine is one QEMU process and the files that it shares with this process. They are in memory and have no names, so
// that nothing of a guest outlives the two processes.
type machine struct {
	guest   *Guest
	accel   accelerator
	initrd  *os.File
	console *os.File
	results *os.File
	said    bytes.Buffer // QEMU's own messages
	ended   chan struct{}
	err     error // of QEMU; read it after ended
	kill    func() error
}

// accelerator is the way in which QEMU executes the guest's instructions.
type accelerator string

const (
	kvm accelerator = "kvm" // on this processor
	tcg accelerator = "tcg" // translated
)

// accelerators are those to try, in order. That KVM's device opens does not say that a guest gets anywhere with it.
func accelerators(deterministic bool) []accelerator {
	if deterministic {
		return []accelerator{tcg} // KVM cannot count
	}
	if f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0); err == nil {
		_ = f.Close()
		return []accelerator{kvm, tcg}
	}
	return []accelerator{tcg}
}

// Where QEMU finds the files that it inherits.
const (
	consoleFD = "/dev/fd/3"
	resultsFD = "/dev/fd/4"
	initrdFD  = "/dev/fd/5"
)

// arguments is the command line of QEMU. Console and results go to files, not pipes: a write to a file is done when it
// returns, while QEMU waits for a pipe in its own time, which in a deterministic run must not exist.
func (m *machine) arguments() []string {
	g := m.guest
	processors := strconv.Itoa(min(runtime.NumCPU(), 4))
	console := "file,id=console,path=" + consoleFD
	if g.Shell {
		console = "stdio,id=console,signal=off,logfile=" + consoleFD
	}
	args := []string{"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", "pc", "-m",
		fmt.Sprintf("%dM", g.memory())}
	if g.Deterministic {
		// Guest time is a count of instructions, 1 ns each; while the guest idles it jumps. The guest's random numbers,
		// from the processor's instruction or from QEMU, derive from the seed.
		//
		// QEMU is configured to record, although the record is discarded, because then its main loop and the thread
		// that executes the guest exclude each other. Otherwise (seen in 7.2) the main loop may find the guest idle
		// before the instructions that led there have been counted, and it advances the clock too far: on a busy
		// machine, in one run of five.
		args = append(args, "-accel", "tcg", "-icount", "shift=0,sleep=off,rr=record,rrfile="+os.DevNull, "-rtc",
			"base=2026-01-01,clock=vm", "-cpu", "qemu64,+rdrand",
			"-seed", strconv.FormatUint(g.Seed, 10))
		processors = "1"
	} else {
		args = append(args, "-accel", string(m.accel), "-cpu", "max")
	}
	return append(args, "-smp", processors, "-kernel", g.Kernel.boots(), "-initrd", initrdFD,
		"-append", g.commandLine(),
		"-chardev", console, "-serial", "chardev:console",
		"-chardev", "file,id=results,path="+resultsFD,
		"-device", "virtio-serial-pci,ioeventfd=off", "-device", "virtserialport,chardev=results,name="+portName)
}

// commandLine is the command line of the kernel. Every error of the kernel ends the guest: a guest that hangs would
// report nothing.
func (g *Guest) commandLine() string {
	line := "console=ttyS0 rdinit=" + initPath + " panic=-1 oops=panic softlockup_panic=1 sysctl.vm.panic_on_oom=1 " +
		"net.ifnames=0 quiet loglevel=5 cryptomgr.notests"
	if g.Deterministic {
		line += " tsc=reliable"
	}
	return line + " -- process guest"
}

// start starts QEMU. Its thread is this goroutine's until it has ended, because the kernel sends the signal that ends
// an orphan when the thread that started it ends.
func (m *machine) start() error {
	cmd := exec.Command(emulator, m.arguments()...)
	cmd.ExtraFiles = []*os.File{m.console, m.results, m.initrd}
	cmd.Stdout, cmd.Stderr = &m.said, &m.said
	// A separate process group: an interrupt from the terminal reaches this process only. A shell needs the terminal.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: !m.guest.Shell}
	if m.guest.Shell {
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	}
	m.ended = make(chan struct{})
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			m.err = cmd.Wait()
			close(m.ended)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("lab: start %s: %w", emulator, err)
	}
	m.kill = cmd.Process.Kill
	return m.bound(cmd.Process.Pid)
}

// bound ends a deterministic guest that does not reach its own limit, after a limit of processor time.
func (m *machine) bound(pid int) error {
	if !m.guest.Deterministic {
		return nil
	}
	most := uint64(m.guest.limit().Seconds()+1) * slowest
	if err := unix.Prlimit(pid, unix.RLIMIT_CPU, &unix.Rlimit{Cur: most, Max: most}, nil); err != nil {
		return errors.Join(fmt.Errorf("lab: limit the processor time of %s: %w", emulator, err), m.kill())
	}
	return nil
}

// memory creates a file that exists only while it is open.
func memory(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate("gauntlet-"+name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("lab: file in memory for %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}
