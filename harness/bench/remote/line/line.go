// Package line is what the harness and its supervisor on a far host say to each other: lines of JSON over the standard
// streams of one ssh channel.
//
// The harness sends orders, each with a number; the supervisor answers each by that number, in the order in which they
// are done. In between it tells what happens by itself: a program writes or ends, a connection brings bytes or closes.
// The harness beats each second. When the channel ends, or has been silent for a lease, the supervisor ends what it has
// started and undoes what it has changed.
package line

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// Version of the language. Both sides are the same program, unless somebody has put another where its hash is.
const Version = 1

// Lease is how long the supervisor waits for a line, and Beat how often the harness sends one. TCP's back-off makes ten
// seconds of a cable that was out for four.
const (
	Lease = 20 * time.Second
	Beat  = time.Second
)

// Limit is the longest line, and Chunk the most bytes that one carries.
const (
	Limit = 1 << 20
	Chunk = 256 << 10
)

// The orders.
const (
	OpBeat        = "beat"
	OpDescribe    = "describe"     // Place -> station.Description
	OpCounters    = "counters"     // Place -> station.Counters
	OpHold        = "hold"         // Hold -> Held
	OpRelease     = "release"      // undoes OpHold
	OpStart       = "start"        // Start -> Started
	OpSignal      = "signal"       // Signal
	OpMemory      = "memory"       // Memory -> Data
	OpRun         = "run"          // Start -> Data: what a short program prints
	OpListen      = "listen"       // -> Port; an Accepted event follows
	OpFreePort    = "free-port"    // -> Port
	OpDial        = "dial"         // Port -> Stream
	OpWrite       = "write"        // Data
	OpClose       = "close"        // Of
	OpWatch       = "watch"        // begins to watch completions
	OpCompletions = "completions"  // Queue -> Statuses; ends the watch
	OpWatchFrames = "watch-frames" // Frames -> Seen: those with a mark, for a time
	OpSendFrame   = "send-frame"   // Frames
	OpClock       = "clock"        // -> Clock
)

// The events.
const (
	EventHello    = "hello"    // the first line
	EventOutput   = "output"   // a program wrote
	EventExited   = "exited"   // a program has ended
	EventAccepted = "accepted" // a listener has its connection, which is of its number
	EventData     = "data"     // a connection brought bytes
	EventClosed   = "closed"   // and brings no more
)

// Order is what the harness sends.
type Order struct {
	ID   uint64          `json:"id"`
	Op   string          `json:"op"`
	Args json.RawMessage `json:"args,omitempty"`
}

// Reply is what the supervisor sends: the answer to an order, or an event.
type Reply struct {
	ID     uint64          `json:"id,omitempty"`
	Error  string          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`

	Event   string `json:"event,omitempty"`
	Of      uint64 `json:"of,omitempty"` // the program or connection
	Data    []byte `json:"data,omitempty"`
	Code    int    `json:"code,omitempty"`   // with which a program ended
	Signal  string `json:"signal,omitempty"` // by which it was ended
	Version int    `json:"version,omitempty"`
	PID     int    `json:"pid,omitempty"`
}

// Place is a device and its network device.
type Place struct {
	Device  string `json:"device"`
	Port    int    `json:"port"`
	Network string `json:"network"`
}

// Hold asks for the network device of a place alone, with an address, and for what a peer needs to be reached.
type Hold struct {
	Place
	Address string `json:"address"`  // with the length of its prefix, "10.77.0.1/24"
	Peer    string `json:"peer"`     // its address
	PeerMAC string `json:"peer_mac"` // and how it is reached
}

// Held is what came of it.
type Held struct {
	GID int    `json:"gid"` // index of the address in the device's table
	MAC string `json:"mac"`
}

// Start is a program and its arguments.
type Start struct {
	Program string   `json:"program"`
	Args    []string `json:"args"`
	Idle    bool     `json:"idle"` // it lets everything else go before
}

// Started names a program, a connection or a listener.
type Started struct {
	Of   uint64 `json:"of"`
	Port int    `json:"port,omitempty"`
}

// Signal is for a program. Glance is how it is let look now and then, from this on.
type Signal struct {
	Of     uint64 `json:"of"`
	Signal int    `json:"signal"`
	Glance bool   `json:"glance,omitempty"`
}

// Memory is a range of a program's.
type Memory struct {
	Of      uint64 `json:"of"`
	Address uint64 `json:"address"`
	Len     int    `json:"len"`
}

// Data is bytes, of a connection where they are written.
type Data struct {
	Of    uint64 `json:"of,omitempty"`
	Bytes []byte `json:"bytes"`
}

// Queue is a queue pair.
type Queue struct {
	QPN uint32 `json:"qpn"`
}

// Statuses are those of the completions of a queue, nil when some were lost.
type Statuses struct {
	Statuses []int `json:"statuses"`
}

// Frames are raw frames of a network device.
type Frames struct {
	Network string   `json:"network"`
	Mark    []byte   `json:"mark,omitempty"` // what those begin with, behind the addresses, that are watched for
	For     int      `json:"for_ms,omitempty"`
	Frames  [][]byte `json:"frames,omitempty"`
}

// Seen is how many were, and the first of them.
type Seen struct {
	Count int    `json:"count"`
	First []byte `json:"first,omitempty"`
}

// Clock is a far host's, in nanoseconds.
type Clock struct {
	Wall      int64 `json:"wall"`
	Monotonic int64 `json:"monotonic"`
}

// Reader reads lines that another side has written.
type Reader struct{ in *bufio.Scanner }

// NewReader returns a Reader.
func NewReader(r io.Reader) *Reader {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 64<<10), Limit)
	return &Reader{in}
}

// Next reads one line into v. At the end it is io.EOF; what is no line of the language is named in the error.
func (r *Reader) Next(v any) error {
	if !r.in.Scan() {
		if err := r.in.Err(); errors.Is(err, bufio.ErrTooLong) {
			return fmt.Errorf("line of more than %d bytes", Limit)
		}
		return io.EOF // and what broke the channel is told by who carried it
	}
	if err := json.Unmarshal(r.in.Bytes(), v); err != nil {
		return fmt.Errorf("%q is no line of the supervisor's", quote.Line(r.in.Text(), quote.Name))
	}
	return nil
}

// Writer writes lines; any goroutine may use it.
type Writer struct {
	mu  sync.Mutex
	out io.Writer
}

// NewWriter returns a Writer.
func NewWriter(w io.Writer) *Writer { return &Writer{out: w} }

// Write writes v as one line.
func (w *Writer) Write(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(b) >= Limit {
		return fmt.Errorf("line of %d bytes; want less than %d", len(b), Limit)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = w.out.Write(append(b, '\n'))
	return err
}
