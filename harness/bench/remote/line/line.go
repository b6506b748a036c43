// Package line is the protocol between the harness and its supervisor on a far host: lines of JSON over the standard
// streams of one ssh channel.
//
// The harness sends orders, each with a number; the supervisor answers each with that number, in the order in which
// they finish. In between it sends events: a program writes or ends, a connection receives bytes or closes. The harness
// sends a sign of life each second. When the channel ends, or has been silent for a lease, the supervisor ends
// everything that it has started and undoes its changes.
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

// Version of the protocol. Both sides are the same program, unless the file that is named by its hash was replaced.
const Version = 1

// Lease is the time after which the supervisor gives up a silent channel, and Beat the interval of signs of life. After
// an outage of four seconds TCP's back-off can delay the next line to ten.
const (
	Lease = 20 * time.Second
	Beat  = time.Second
)

// Limit is the length of the longest line, and Chunk the maximum number of data bytes in one, both in bytes.
const (
	Limit = 1 << 20
	Chunk = 256 << 10
)

// The orders.
const (
	OpBeat        = "beat"
	OpIdentify    = "identify"     // Place -> station.Description, what every run needs of it
	OpDescribe    = "describe"     // Place -> station.Description
	OpCounters    = "counters"     // Place -> station.Counters
	OpHold        = "hold"         // Hold -> Held
	OpRelease     = "release"      // undoes OpHold
	OpStart       = "start"        // Start -> Started
	OpSignal      = "signal"       // Signal
	OpMemory      = "memory"       // Memory -> Data
	OpRun         = "run"          // Start -> Data: the output of a short program
	OpListen      = "listen"       // -> Port; an Accepted event follows
	OpFreePort    = "free-port"    // -> Port
	OpDial        = "dial"         // Port -> Stream
	OpWrite       = "write"        // Data
	OpClose       = "close"        // Of
	OpWatch       = "watch"        // starts to watch completions
	OpCompletions = "completions"  // Queue -> Statuses; ends the watch
	OpWatchFrames = "watch-frames" // Frames -> Seen: counts frames that begin with a mark, for a time
	OpSendFrame   = "send-frame"   // Frames
	OpClock       = "clock"        // -> Clock
)

// The events.
const (
	EventHello    = "hello"    // the first line
	EventOutput   = "output"   // output of a program
	EventExited   = "exited"   // end of a program
	EventAccepted = "accepted" // a listener has its connection, which has the listener's number
	EventData     = "data"     // bytes received on a connection
	EventClosed   = "closed"   // end of a connection
)

// Order is a line from the harness.
type Order struct {
	ID   uint64          `json:"id"`
	Op   string          `json:"op"`
	Args json.RawMessage `json:"args,omitempty"`
}

// Reply is a line from the supervisor: the answer to an order, or an event.
type Reply struct {
	ID     uint64          `json:"id,omitempty"`
	Error  string          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`

	Event   string `json:"event,omitempty"`
	Of      uint64 `json:"of,omitempty"` // number of the program or connection
	Data    []byte `json:"data,omitempty"`
	Code    int    `json:"code,omitempty"`   // exit code of a program
	Signal  string `json:"signal,omitempty"` // signal that ended it
	Version int    `json:"version,omitempty"`
	PID     int    `json:"pid,omitempty"`
}

// Place names an RDMA device and its network device.
type Place struct {
	Device  string `json:"device"`
	Port    int    `json:"port"`
	Network string `json:"network"`
}

// Hold asks for exclusive use of the network device of a place, and sets its address and the peer's.
type Hold struct {
	Place
	Address string `json:"address"`  // address with the length of its prefix, "10.77.0.1/24"
	Peer    string `json:"peer"`     // IP address of the peer
	PeerMAC string `json:"peer_mac"` // Ethernet address of the peer
}

// Held is the result of Hold.
type Held struct {
	GID int    `json:"gid"` // index of the address in the device's GID table
	MAC string `json:"mac"`
}

// Start is a program and its arguments.
type Start struct {
	Program string   `json:"program"`
	Args    []string `json:"args"`
	Idle    bool     `json:"idle"` // run only while the processor is otherwise idle
}

// Started names a program, a connection or a listener.
type Started struct {
	Of   uint64 `json:"of"`
	Port int    `json:"port,omitempty"`
}

// Signal sends a signal to a program. Glance instead lets it run only at short intervals, from now on.
type Signal struct {
	Of     uint64 `json:"of"`
	Signal int    `json:"signal"`
	Glance bool   `json:"glance,omitempty"`
}

// Memory is a range of a program's memory.
type Memory struct {
	Of      uint64 `json:"of"`
	Address uint64 `json:"address"`
	Len     int    `json:"len"`
}

// Data holds bytes, with the number of the connection in OpWrite.
type Data struct {
	Of    uint64 `json:"of,omitempty"`
	Bytes []byte `json:"bytes"`
}

// Queue names a queue pair.
type Queue struct {
	QPN uint32 `json:"qpn"`
}

// Statuses are the completion statuses of a queue pair, nil when some were lost.
type Statuses struct {
	Statuses []int `json:"statuses"`
}

// Frames are raw frames of a network device to send, or to watch for.
type Frames struct {
	Network string   `json:"network"`
	Mark    []byte   `json:"mark,omitempty"` // first bytes after the addresses of the frames to watch for
	For     int      `json:"for_ms,omitempty"`
	Frames  [][]byte `json:"frames,omitempty"`
}

// Seen is the number of frames seen, and the first of them.
type Seen struct {
	Count int    `json:"count"`
	First []byte `json:"first,omitempty"`
}

// Clock is the time of a far host, in nanoseconds.
type Clock struct {
	Wall      int64 `json:"wall"`
	Monotonic int64 `json:"monotonic"`
}

// Reader reads the lines of the other side.
type Reader struct{ in *bufio.Scanner }

// NewReader returns a Reader.
func NewReader(r io.Reader) *Reader {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 64<<10), Limit)
	return &Reader{in}
}

// Next reads one line into v. It returns io.EOF at the end; the error for an invalid line quotes it.
func (r *Reader) Next(v any) error {
	if !r.in.Scan() {
		if err := r.in.Err(); errors.Is(err, bufio.ErrTooLong) {
			return fmt.Errorf("line of more than %d bytes", Limit)
		}
		return io.EOF // the error of the channel is reported by its owner
	}
	if err := json.Unmarshal(r.in.Bytes(), v); err != nil {
		return fmt.Errorf("%q is no line of the supervisor's", quote.Line(r.in.Text(), quote.Name))
	}
	return nil
}

// Writer writes lines; it is safe for concurrent use.
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
