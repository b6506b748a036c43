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
// container. Who started it calls Wait, once.
type Program struct {
	Name   string // for errors: its path, or its image
	PID    int    // of its first process, as seen from here
	Stdin  io.WriteCloser
	Stdout io.ReadCloser
	Log    *Log // its standard error

	// Signal sends a signal to it. os.Kill ends whatever it has started as well.
	Signal func(os.Signal) error

	// Wait returns when it has ended and nothing is left of it. The error of one that ended with a code other than 0
	// has a method ExitCode, as that of package exec has.
	Wait func() error

	// Report makes the file for the reports of a program that has many, and says how the program calls it. Nil says
	// that it sees the files of this machine.
	Report func() (file *os.File, path string, err error)
}

// Lives reports whether its first process is there. Wait may take longer: it is then the container that is being
// removed.
func (p *Program) Lives() bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d", p.PID))
	return err == nil
}

// EndTime is how long a program may take to end when its standard input has.
const EndTime = 2 * time.Second

// EndsWith hears that a program is there, and does what is to end it. The error says how it ended instead, or that it
// did not.
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

// exitCode is the code that a program ended with; the error of its Wait says so, unless there is another reason.
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

// logLimit is how much of its standard error is kept of a program.
const logLimit = 64 << 10

// Log keeps the end of what a program writes on standard error, for the message that says why it failed.
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

// Last returns the last line, or the one that says what a Go program died of, as the end of an error message. It is no
// longer than quote.Sentence, and what of it does not print is an escape.
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
