package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// Limits of a container, in bytes. Reports count as memory.
const (
	maxMemory  = 2 << 30
	maxReports = 1 << 30
	maxThreads = 512
)

// hurry is the share of the processors of a container. It equals the priority of the bench's other programs, which has
// effect only within a group: four threads of nice -15, on a scale on which an ordinary process has 1024.
const hurry = 4 * 29154

// roots are the top groups, by the engine's cgroup driver: under an intermediate group, which Docker creates by
// default, all containers together would have the share of one process.
var roots = map[string]string{"cgroupfs": "/", "systemd": "-.slice"}

// guest describes the program to run in a container.
type guest struct {
	name    string // for messages
	image   string // its ID
	user    string // as in the image
	command []string
}

// start creates a container, attaches to it, and starts it. It is removed when it ends, and when it cannot be started.
func (e *Engine) start(ctx context.Context, g guest) (*contract.Program, error) {
	c, err := e.provider.CreateContainer(ctx, e.request(&g))
	if err != nil {
		return nil, fmt.Errorf("container: image %s: %w", g.name, err)
	}
	b := &box{client: e.client, id: c.GetContainerID()}
	p := &contract.Program{Name: g.name, Log: &contract.Log{}, Signal: b.signal, Wait: b.wait}
	p.Report = func() (*os.File, string, error) { return report(p.PID) }
	if err = b.attach(ctx, p); err == nil {
		if err = c.Start(ctx); err == nil {
			p.PID, err = b.pid(ctx)
		}
	}
	if err != nil {
		_ = b.remove() // the first error gives the reason
		if b.copied != nil {
			<-b.copied
		}
		return nil, fmt.Errorf("container: image %s: %w%s", g.name, err, p.Log.Last())
	}
	return p, nil
}

// request is the container as testcontainers is asked for it.
func (e *Engine) request(g *guest) testcontainers.ContainerRequest {
	return testcontainers.ContainerRequest{
		Image: g.image, Labels: map[string]string{Owner: e.owner},
		Entrypoint: append([]string{launcher, "process", "confined", g.user}, g.command...),
		ConfigModifier: func(c *container.Config) {
			c.User = "0:0" // for the launcher, which changes its user
			c.OpenStdin, c.StdinOnce = true, true
			c.AttachStdin, c.AttachStdout, c.AttachStderr = true, true, true
			c.Healthcheck = &container.HealthConfig{Test: []string{"NONE"}}
		},
		HostConfigModifier: e.limit,
	}
}

// limit sets the permissions and the resource limits of a container.
func (e *Engine) limit(h *container.HostConfig) {
	threads := int64(maxThreads)
	h.NetworkMode = "none"
	h.AutoRemove = true
	h.ReadonlyRootfs = true
	h.CapDrop, h.CapAdd = []string{"ALL"}, []string{"NET_RAW", "SETUID", "SETGID"} // the last two are the launcher's
	h.SecurityOpt = []string{"no-new-privileges"}
	h.LogConfig = container.LogConfig{Type: "none"} // its output is read from the attached streams
	h.Resources = container.Resources{Memory: maxMemory, MemorySwap: maxMemory, PidsLimit: &threads,
		CgroupParent: e.root, CPUShares: hurry}
	h.Tmpfs = map[string]string{reports: fmt.Sprintf("rw,noexec,nosuid,nodev,mode=0777,size=%d", maxReports)}
	h.Mounts = []mount.Mount{{Type: mount.TypeBind, Source: e.Self, Target: launcher, ReadOnly: true}}
}

// box is a created container.
type box struct {
	client client.APIClient
	id     string
	ended  client.ContainerWaitResult
	copied chan struct{} // closed when all output of the container has been read
}

// attach connects the pipes of a program, and begins to wait for its end, before it is started, so that no output and
// no exit is missed.
func (b *box) attach(ctx context.Context, p *contract.Program) error {
	streams, err := b.client.ContainerAttach(ctx, b.id, client.ContainerAttachOptions{Stream: true, Stdin: true,
		Stdout: true, Stderr: true})
	if err != nil {
		return err
	}
	out, in := io.Pipe()
	p.Stdin, p.Stdout = halfCloser{streams.Conn}, out
	b.copied = make(chan struct{})
	go func() {
		defer close(b.copied)
		_, err := stdcopy.StdCopy(in, p.Log, streams.Reader)
		_ = in.CloseWithError(err) // nil is the end
		streams.Close()
	}()
	b.ended = b.client.ContainerWait(context.Background(), b.id,
		client.ContainerWaitOptions{Condition: container.WaitConditionRemoved})
	return nil
}

// halfCloser is the standard input of a container: its end leaves the other direction open.
type halfCloser struct{ net.Conn }

// Close implements io.Closer.
func (h halfCloser) Close() error {
	c, ok := h.Conn.(client.CloseWriter)
	if !ok {
		return errors.New("container: this connection to Docker Engine cannot end one direction; use its unix socket")
	}
	return c.CloseWrite()
}

// pid returns the process ID of the first process of a running container, and checks that it is a process of this
// machine: an engine in a virtual machine has other IDs.
func (b *box) pid(ctx context.Context) (int, error) {
	i, err := b.client.ContainerInspect(ctx, b.id, client.ContainerInspectOptions{})
	if err != nil {
		return 0, err
	}
	s := i.Container.State
	if s == nil || s.Pid == 0 {
		return 0, errEnded
	}
	if err := became(s.Pid); err != nil {
		return 0, err
	}
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", s.Pid))
	if err != nil || !strings.Contains(string(groups), b.id) {
		return 0, fmt.Errorf("its first process, %d, is not one of this machine, or has ended; want a Docker Engine "+
			"that is not in a virtual machine", s.Pid)
	}
	return s.Pid, nil
}

var errEnded = errors.New("it ended at once")

// became waits until the launcher has become the program. During the change the process may appear to have no
// namespaces, because the thread that takes over may not be the first one.
func became(pid int) error {
	path := fmt.Sprintf("/proc/%d/cmdline", pid)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		line, err := os.ReadFile(path)
		if err != nil {
			return errEnded
		}
		if len(line) > 0 && !strings.HasPrefix(string(line), launcher+"\x00") {
			return nil
		}
	}
	return fmt.Errorf("it was not started within %s", patience)
}

// signal sends a signal to the first process.
func (b *box) signal(s os.Signal) error {
	number, ok := s.(syscall.Signal)
	if !ok {
		return fmt.Errorf("container: signal %v: unknown", s)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := b.client.ContainerKill(ctx, b.id, client.ContainerKillOptions{Signal: unix.SignalName(number)})
	return err
}

// wait returns when the container is gone.
func (b *box) wait() error {
	var code int64
	select {
	case r := <-b.ended.Result:
		if r.Error != nil {
			return fmt.Errorf("container: %s", quote.Line(r.Error.Message, quote.Sentence))
		}
		code = r.StatusCode
	case err := <-b.ended.Error:
		return errors.Join(fmt.Errorf("container: Docker Engine is gone: %w", err), b.remove())
	}
	<-b.copied
	if code != 0 {
		return exitStatus(code)
	}
	return nil
}

// remove removes the container, even if it is running.
func (b *box) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := b.client.ContainerRemove(ctx, b.id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	return err
}

// exitStatus is the exit status of a container, other than 0.
type exitStatus int

// Error implements error.
func (s exitStatus) Error() string {
	if n := syscall.Signal(s - 128); n == syscall.SIGKILL {
		return fmt.Sprintf("signal: killed (its memory is limited to %d MiB)", maxMemory>>20)
	} else if s > 128 && n < 65 {
		return "signal: " + n.String()
	}
	return fmt.Sprintf("exit status %d", int(s))
}

// ExitCode returns the code, as the errors of package exec do.
func (s exitStatus) ExitCode() int { return int(s) }

// report creates the file for the reports of a program, in the container's memory, so that it does not outlive the
// container. Its path is resolved inside the container's file system, so that no link of a program or an image leads
// out of it.
func report(pid int) (*os.File, string, error) {
	path := filepath.Join(reports, "report")
	root, err := unix.Open(fmt.Sprintf("/proc/%d/root", pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, "", fmt.Errorf("container: file system of process %d: %w", pid, err)
	}
	defer unix.Close(root)
	fd, err := unix.Openat2(root, strings.TrimPrefix(path, "/"), &unix.OpenHow{
		Flags: unix.O_CREAT | unix.O_EXCL | unix.O_RDWR | unix.O_CLOEXEC, Mode: 0o600, Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		return nil, "", fmt.Errorf("container: make %s: %w", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	if err := f.Chmod(0o666); err != nil { // writable for the user of the program, which may be any
		return nil, "", errors.Join(err, f.Close())
	}
	return f, path, nil
}
