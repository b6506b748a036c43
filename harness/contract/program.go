package contract

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// Program is a program that a bench has started, wherever it runs: as a process, or as the first process of a
// container. The starter of a program calls Wait, once.
type Program struct {
	Name   string // for errors: its path, or its image
	PID    int    // process ID of its first process, in the PID namespace of the bench
	Stdin  io.WriteCloser
	Stdout io.ReadCloser
	Log    *Log // its standard error

	// Signal sends a signal to the program. os.Kill ends all processes that it has started as well.
	Signal func(os.Signal) error

	// Wait returns when the program has ended and no process of it is left. The error of a program that ended with a
	// code other than 0 has a method ExitCode, like exec.ExitError.
	Wait func() error

	// Report makes the file for the reports of a program that declares "file", and returns its path in the file system
	// of the program. Nil means that the program sees the files of this machine.
	Report func() (file *os.File, path string, err error)
}

// Lives reports whether the first process of the program exists. Wait may return later, when the container has been
// removed too.
func (p *Program) Lives() bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d", p.PID))
	return err == nil
}

// EndTime bounds the time from the end of a program's standard input to its exit.
const EndTime = 2 * time.Second

// EndsWith waits for the first report of a program and then calls how, which is expected to end it. The error says how
// the program ended instead, or that it did not end.
func EndsWith(p *Program, how func(*Program) error) error {
	defer p.Stdout.Close()
	stuck := time.AfterFunc(patience, func() { _ = p.Signal(os.Kill) })
	_, err := NewDialog(p.Stdout).Next()
	stuck.Stop()
	if err == nil {
		err = how(p)
	}
	var killed atomic.Bool
	timer := time.AfterFunc(EndTime, func() {
		if p.Lives() {
			killed.Store(true)
			_ = p.Signal(os.Kill)
		}
	})
	defer timer.Stop()
	go func() { _, _ = io.Copy(io.Discard, p.Stdout) }()
	ended := p.Wait()
	switch {
	case err != nil:
		return err
	case killed.Load():
		return fmt.Errorf("it went on for %s and was killed; want it to end", EndTime)
	case ended != nil:
		return fmt.Errorf("it ended with %w; want exit code 0", ended)
	}
	return nil
}

// exitCode returns the exit code that the error of Wait carries; the error is that of Wait when it has another reason.
func exitCode(ended error) (code int, err error) {
	if ended == nil {
		return 0, nil
	}
	var exit interface{ ExitCode() int }
	if errors.As(ended, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, ended
}

// logLimit bounds the bytes of a program's standard error that Log keeps.
const logLimit = 64 << 10

// Log keeps the end of a program's standard error, for the message that says why the program failed.
type Log struct {
	mu  sync.Mutex
	buf []byte
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, p...)
	if over := len(l.buf) - logLimit; over > 0 {
		l.buf = l.buf[over:]
	}
	return len(p), nil
}

// String returns all that is kept.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.buf)
}

// Last returns the last line, or the line with the reason of a Go program's panic, as the end of an error message. It
// is no longer than quote.Sentence, and characters that do not print are escaped.
func (l *Log) Last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(l.buf)), "\n")
	line := lines[len(lines)-1]
	for _, l := range lines {
		if strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "fatal error: ") {
			line = l
			break
		}
	}
	if line = quote.Line(strings.TrimPrefix(line, "gauntlet: "), quote.Sentence); line != "" {
		return ": " + line
	}
	return ""
}
