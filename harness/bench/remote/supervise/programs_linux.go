package supervise

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote/line"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
)

// program is a program that was started.
type program struct {
	command *exec.Cmd
	exited  chan struct{}

	mu      sync.Mutex
	glances chan struct{} // closed to end station.Glance; nil when it does not run
	glanced chan struct{} // closed when station.Glance has ended
}

// mostOutput is the maximum number of bytes of a program's output that are sent. A tool prints a page.
const mostOutput = 1 << 20

// output sends the output of a program to the harness.
type output struct {
	of   uint64
	out  *line.Writer
	left int
}

// Write implements io.Writer. It never fails, so that a program does not notice a broken channel.
func (o *output) Write(b []byte) (int, error) {
	for told := b[:min(len(b), o.left)]; len(told) > 0; {
		n := min(len(told), line.Chunk)
		_ = o.out.Write(line.Reply{Event: line.EventOutput, Of: o.of, Data: told[:n]})
		told, o.left = told[n:], o.left-n
	}
	return len(b), nil
}

// start starts a program, which the kernel kills when this process dies.
func (s *supervisor) start(a line.Start) (any, error) {
	path, err := exec.LookPath(a.Program)
	if err != nil {
		return nil, fmt.Errorf(
			"supervise: %s is not installed; install perftest, rdmacm-utils and ibverbs-providers there", a.Program)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of, open := s.number()
	if !open {
		return nil, errors.New("supervise: the channel is over")
	}
	p := &program{command: exec.Command(path, a.Args...), exited: make(chan struct{})}
	told := &output{of: of, out: s.out, left: mostOutput}
	p.command.Stdout, p.command.Stderr, p.command.WaitDelay = told, told, time.Second
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	s.starts <- func() { started <- p.command.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("supervise: start %s: %w", a.Program, err)
	}
	if a.Idle {
		station.StepBack(p.command.Process.Pid)
	}
	s.programs[of] = p
	go s.await(of, p)
	return line.Started{Of: of}, nil
}

// await reports how a program ended.
func (s *supervisor) await(of uint64, p *program) {
	err := p.command.Wait()
	close(p.exited)
	r := line.Reply{Event: line.EventExited, Of: of}
	var exit *station.Exit
	if errors.As(station.ExitOf(err), &exit) {
		r.Code, r.Signal = exit.Code, exit.Signal
	}
	_ = s.out.Write(&r)
}

func (p *program) kill() { kill(p.command.Process.Pid) }

// find returns a program by its number.
func (s *supervisor) find(of uint64) (*program, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.programs[of]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("supervise: no program %d", of)
}

// signal sends a signal to a program and its children, which may have ended.
func (s *supervisor) signal(a line.Signal) (any, error) {
	p, err := s.find(a.Of)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.glances != nil {
		close(p.glances)
		<-p.glanced // otherwise Glance could stop the program after the signal
		p.glances = nil
	}
	select {
	case <-p.exited:
		return nil, nil
	default:
	}
	if a.Glance {
		over, glanced := make(chan struct{}), make(chan struct{})
		p.glances, p.glanced = over, glanced
		go func() {
			defer close(glanced)
			station.Glance(p.command.Process.Pid, over, p.exited)
		}()
		return nil, nil
	}
	_ = syscall.Kill(-p.command.Process.Pid, syscall.Signal(a.Signal))
	return nil, nil
}

// memory reads a part of a program's memory.
func (s *supervisor) memory(a line.Memory) (any, error) {
	p, err := s.find(a.Of)
	if err != nil {
		return nil, err
	}
	if a.Len < 0 || a.Len > line.Chunk {
		return nil, fmt.Errorf("supervise: %d bytes of memory; want %d at most", a.Len, line.Chunk)
	}
	b, err := station.Memory(p.command.Process.Pid, a.Address, a.Len)
	return line.Data{Bytes: b}, err
}

// shortly is the time limit of a short program.
const shortly = 10 * time.Second

// run returns the output of a short program.
func (s *supervisor) run(a line.Start) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), shortly)
	defer cancel()
	c := exec.CommandContext(ctx, a.Program, a.Args...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	type end struct {
		text []byte
		err  error
	}
	ended := make(chan end, 1)
	s.starts <- func() {
		text, err := c.Output()
		ended <- end{text, err}
	}
	e := <-ended
	if e.err != nil {
		return nil, fmt.Errorf("supervise: %s: %w", a.Program, e.err)
	}
	return line.Data{Bytes: e.text[:min(len(e.text), line.Chunk)]}, nil
}
