package relay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// Setup is the first line that a relay process reads: the part of a Config that is data.
type Setup struct {
	packetio.Timebase        // time base of the run, for link, faults and injections
	A                 string `json:"a"` // name of the device towards endpoint A
	B                 string `json:"b"` // name of the device towards endpoint B
	// Qdisc tells that a qdisc on the devices impairs outgoing frames; a frame that the qdisc refuses counts as lost.
	Qdisc      bool          `json:"qdisc,omitempty"`
	Link       spec.Duplex   `json:"link"`
	Faults     []fault.Fault `json:"faults,omitempty"`
	SeedAB     uint64        `json:"seed_ab"`
	SeedBA     uint64        `json:"seed_ba"`
	Injections []Injection   `json:"injections,omitempty"`
	// Dialect is the configuration of the Dialect function, which alone interprets it.
	Dialect   json.RawMessage `json:"dialect,omitempty"`
	Foreign   Foreign         `json:"foreign,omitempty"`
	Memory    int             `json:"memory,omitempty"`
	Log       string          `json:"log,omitempty"` // path of the fate log
	Realtime  bool            `json:"realtime,omitempty"`
	Processor *int            `json:"processor,omitempty"`
}

// Answer is one line that a relay process writes: "ready" when it forwards frames, "stats" for each Command, "error"
// for an invalid Command or when the process ends with an error.
type Answer struct {
	Event string `json:"event"`
	Stats *Stats `json:"stats,omitempty"`
	Error string `json:"error,omitempty"`
}

// speaker writes answers. It is safe for concurrent use: the loop may end while a reply is written.
type speaker struct {
	mu  sync.Mutex
	out *json.Encoder
}

// say writes one line.
func (s *speaker) say(a Answer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Encode(a)
}

// maxLine is the maximum length of a line of the control protocol; a Setup with many large injections is the longest.
const maxLine = 128 << 20

// spareMemory is the memory that a relay process may use, beside the frames in flight, before garbage is collected.
const spareMemory = 512 << 20

// Main is the body of a relay process in the network namespace of the link. It reads a Setup line, then Command lines,
// and ends at the end of its input, so that it never outlives the process that holds the pipe.
func Main(stdin io.Reader, stdout io.Writer, dialect Dialect) error {
	out := &speaker{out: json.NewEncoder(stdout)}
	err := serveProcess(stdin, out, dialect)
	if err != nil {
		_ = out.say(Answer{Event: "error", Error: err.Error()}) // the reader may be gone, the caller gets it too
	}
	return err
}

// serveProcess does the work of Main; its error is the one that Main reports.
func serveProcess(stdin io.Reader, out *speaker, dialect Dialect) (err error) {
	lines := bufio.NewScanner(stdin)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	if !lines.Scan() {
		return errors.Join(errors.New("relay: no setup line on standard input"), lines.Err())
	}
	var setup Setup
	if err := json.Unmarshal(lines.Bytes(), &setup); err != nil {
		return fmt.Errorf("relay: setup line: %w", err)
	}
	config, release, err := setup.open(dialect)
	defer func() { err = errors.Join(err, release()) }()
	if err != nil {
		return err
	}
	// Forwarding allocates nothing, so collecting garbage could only delay it: on a busy host a collector's thread may
	// wait tens of milliseconds for a processor while the loop waits for the collector. The limit is a safety net.
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))) // the loop keeps one
	debug.SetMemoryLimit(int64(config.memory()) + spareMemory)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// There are two goroutines: one reads commands, this one forwards frames. The end of the input cancels the context.
	commands := make(chan Command)
	config.Commands = commands
	go func() {
		defer cancel()
		readCommands(ctx, lines, out, commands)
	}()
	if err := out.say(Answer{Event: "ready"}); err != nil {
		return fmt.Errorf("relay: report ready: %w", err)
	}
	_, err = Run(ctx, config)
	return err
}

// readCommands passes commands on until the input ends. It waits for the reply to each command before it reads the
// next.
func readCommands(ctx context.Context, lines *bufio.Scanner, out *speaker, commands chan<- Command) {
	for lines.Scan() {
		var c Command
		err := json.Unmarshal(lines.Bytes(), &c)
		if err == nil {
			err = c.validate()
		}
		if err != nil {
			_ = out.say(Answer{Event: "error", Error: err.Error()})
			continue
		}
		replies := make(chan Stats, 1)
		c.Reply = func(s Stats) { replies <- s }
		select {
		case commands <- c:
		case <-ctx.Done():
			return
		}
		select {
		case s := <-replies:
			_ = out.say(Answer{Event: "stats", Stats: &s}) // with the reader gone, the input ends as well
		case <-ctx.Done():
			return
		}
	}
}

// ReceiveMost is the Batch of a relay's ports: the maximum number of frames received from a device before due frames
// are sent. With larger batches, a window that a kernel sends at once would delay due frames by most of a millisecond.
const ReceiveMost = 16

// open returns the Config of the Setup. The release function closes all files and ports opened so far; the caller must
// call it after an error too.
func (s *Setup) open(dialect Dialect) (c Config, release func() error, err error) {
	var closers []io.Closer
	release = func() error {
		var errs []error
		for _, c := range closers {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}
	c = Config{
		Clock: s.Clock(), Link: s.Link, Faults: s.Faults, SeedAB: s.SeedAB, SeedBA: s.SeedBA,
		Injections: s.Injections, Foreign: s.Foreign, Memory: s.Memory, Realtime: s.Realtime, Processor: s.Processor,
	}
	if c.Classifier, c.Alter, err = dialect(s.Dialect); err != nil {
		return c, release, err
	}
	for _, end := range []struct {
		device string
		to     *Device
		past   *Sender
	}{{s.A, &c.A, &c.PastA}, {s.B, &c.B, &c.PastB}} {
		port, err := packetio.Open(end.device, c.Clock, packetio.Options{Qdisc: s.Qdisc, Batch: ReceiveMost})
		if err != nil {
			return c, release, err
		}
		closers = append(closers, port)
		*end.to = port
		if !s.Qdisc {
			continue
		}
		past, err := packetio.Open(end.device, c.Clock, packetio.Options{Past: true})
		if err != nil {
			return c, release, err
		}
		closers = append(closers, past)
		*end.past = past
	}
	if s.Log != "" {
		f, err := os.Create(s.Log)
		if err != nil {
			return c, release, fmt.Errorf("relay: fate log: %w", err)
		}
		closers = append(closers, f)
		c.Log = f
	}
	return c, release, nil
}

// Remote controls a relay process through its pipes. It is not safe for concurrent use.
type Remote struct {
	stdin   io.WriteCloser
	answers *bufio.Scanner
}

// Attach sends the Setup to a relay process that has just been started and waits until it forwards.
func Attach(stdin io.WriteCloser, stdout io.Reader, setup Setup) (*Remote, error) {
	r := &Remote{stdin: stdin, answers: bufio.NewScanner(stdout)}
	r.answers.Buffer(make([]byte, 4096), 1<<20)
	if err := json.NewEncoder(stdin).Encode(setup); err != nil {
		return nil, fmt.Errorf("relay: send the setup: %w", err)
	}
	_, err := r.answer("ready")
	return r, err
}

// Phase begins a phase and returns the Stats of the phase that ends.
func (r *Remote) Phase(c Command) (Stats, error) {
	c.Op = SetPhase
	return r.order(c)
}

// Stats returns the Stats of the phase so far.
func (r *Remote) Stats() (Stats, error) { return r.order(Command{Op: GetStats}) }

// Close ends the process by closing its input; the caller waits for the process.
func (r *Remote) Close() error { return r.stdin.Close() }

// order sends a command and waits for its answer.
func (r *Remote) order(c Command) (Stats, error) {
	if err := json.NewEncoder(r.stdin).Encode(c); err != nil {
		return Stats{}, fmt.Errorf("relay: send %s: %w", c.Op, err)
	}
	a, err := r.answer("stats")
	if err != nil || a.Stats == nil {
		return Stats{}, err
	}
	return *a.Stats, nil
}

// answer reads one line, which should be the wanted event.
func (r *Remote) answer(want string) (Answer, error) {
	var a Answer
	if !r.answers.Scan() {
		return a, errors.Join(errors.New("relay: the process ended; its standard error may say why"), r.answers.Err())
	}
	if err := json.Unmarshal(r.answers.Bytes(), &a); err != nil {
		return a, fmt.Errorf("relay: answer %q: %w", r.answers.Text(), err)
	}
	if a.Event != want {
		return a, fmt.Errorf("relay: process reports %s: %s", a.Event, a.Error)
	}
	return a, nil
}
