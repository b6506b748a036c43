package tcplite

import (
	"fmt"
	"unsafe"

	"github.com/rdma-gauntlet/gauntlet/harness/tcp"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// Config is what a connection is built from.
type Config struct {
	LocalPort, RemotePort uint16
	ISS                   tcp.Seq        // first sequence number of this side
	Active                bool           // this side sends the SYN
	MSS                   int            // most data in a segment, both ways, as long as the peer does not ask for less
	Window                int            // bytes that this side advertises, always
	MinRTO                vtime.Duration // least retransmission timeout
	Retries               int            // timeouts without progress before the connection fails
}

// Bounds of a Config.
const (
	MinMSS    = 64
	MaxMSS    = 16 << 10
	MinWindow = 4 << 10
	MaxWindow = 1 << 29
	MaxTries  = 63
)

// State is where a connection is in its life.
type State uint8

// The states: those of RFC 9293, 3.3.2, as far as a connection that closes in order needs them.
const (
	Listen State = iota
	SynSent
	SynReceived
	Established
	FinWait // this side has closed
	Closed  // reset, failed, or closed by both
)

var stateNames = [...]string{"LISTEN", "SYN_SENT", "SYN_RCVD", "ESTABLISHED", "FIN_WAIT", "CLOSED"}

// String returns the name that RFC 9293 gives the state.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "STATE?"
}

// End tells how a connection ended.
type End uint8

// The ends.
const (
	Alive    End = iota
	Orderly      // both sides closed, and know it
	Reset        // a RST came, or Abort was called
	TimedOut     // the peer did not answer
)

// record is a segment's worth of data that has been written and not acknowledged.
type record struct {
	seq   tcp.Seq
	n     int       // bytes of data
	flags tcp.Flags // SYN or FIN, which take a sequence number
}

// end returns the sequence number after the record.
func (r *record) end() tcp.Seq {
	h := tcp.Header{Flags: r.flags}
	return r.seq.Add(h.Span(r.n))
}

// Conn is a connection. Build it with New.
type Conn struct {
	cfg   Config
	state State
	ended End
	mss   int // the smaller of both sides'

	// What is sent.
	una    tcp.Seq           // oldest that is not acknowledged
	sent   tcp.Seq           // after the highest that was sent (snd_max)
	out    ring.Ring[record] // from una on
	cursor int               // record that goes next; those before it are in flight
	data   bytesAt           // their bytes
	resend bool              // the first record goes again, whatever the window
	cong   newReno
	rtt    estimator
	timer  vtime.Time
	tries  int // timeouts since something was acknowledged
	peer   struct {
		window int // bytes it takes
		scale  uint8
	}

	// What is received.
	rcvNxt  tcp.Seq
	readNxt tcp.Seq // what Read returns next
	direct  []byte  // data in order that never had to wait
	early   reassembly
	store   bytesAt
	finSeq  tcp.Seq // where the peer's FIN is
	finSeen bool
	gotFIN  bool

	ackDue bool // an ACK must go, alone or with data
	dups   int  // ACKs that must go alone: each tells of a segment out of order
	rst    bool // a RST must go
	count  Counts
}

// Counts are what a connection has done so far.
type Counts struct {
	Sent, Resent, Timeouts, FastRetransmits, DupACKs int64
}

// New builds a connection. The error names the attribute that it rejects.
func New(cfg Config) (*Conn, error) {
	for _, c := range []struct {
		name          string
		is, low, high int
	}{{"MSS", cfg.MSS, MinMSS, MaxMSS}, {"window", cfg.Window, MinWindow, MaxWindow},
		{"retries", cfg.Retries, 0, MaxTries}} {
		if c.is < c.low || c.is > c.high {
			return nil, fmt.Errorf("tcplite: %s %d: want %d to %d", c.name, c.is, c.low, c.high)
		}
	}
	if cfg.MinRTO <= 0 {
		return nil, fmt.Errorf("tcplite: least RTO of %d ps: want a positive time", cfg.MinRTO)
	}
	c := &Conn{cfg: cfg, mss: cfg.MSS, una: cfg.ISS, sent: cfg.ISS, timer: vtime.Never}
	c.data.base = cfg.ISS
	c.cong.init(cfg.MSS, cfg.ISS)
	c.rtt.init(cfg.MinRTO)
	return c, nil
}

// Open makes an active connection want to send its SYN; later calls, and those on a passive one, do nothing.
func (c *Conn) Open() {
	if c.state == Listen && c.cfg.Active {
		c.state = SynSent
		c.push(0, tcp.SYN)
	}
}

// State returns where the connection is.
func (c *Conn) State() State { return c.state }

// End returns how the connection ended, or Alive.
func (c *Conn) End() End { return c.ended }

// Counts returns what has been done so far.
func (c *Conn) Counts() Counts { return c.count }

// MSS returns the most data that a segment carries now.
func (c *Conn) MSS() int { return c.mss }

// Window returns the congestion window and the bytes in flight.
func (c *Conn) Window() (cwnd, flight int) { return c.cong.cwnd, c.sent.Sub(c.una) }

// Acked returns how many bytes that were written have been acknowledged.
func (c *Conn) Acked() uint64 { return c.data.gone }

// Bytes returns the memory that the connection takes: its state and its two buffers as they have grown.
func (c *Conn) Bytes() int { return int(unsafe.Sizeof(*c)) + len(c.data.buf) + len(c.store.buf) }

// PeerClosed reports that the peer sends no more, and that everything it sent can be read.
func (c *Conn) PeerClosed() bool { return c.gotFIN }

// Close makes this side send a FIN after what was written; then it only receives.
func (c *Conn) Close() {
	switch c.state {
	case Established:
		c.state = FinWait
		c.push(0, tcp.FIN)
	case Listen, SynSent, SynReceived:
		c.Abort()
	}
}

// Abort ends the connection at once, with a RST if the peer knows of it.
func (c *Conn) Abort() {
	if c.state != Closed {
		c.rst = c.state != Listen && c.state != SynSent
		c.end(Reset)
	}
}

// end closes the connection for a reason; the first one counts.
func (c *Conn) end(why End) {
	if c.ended == Alive {
		c.ended = why
	}
	c.state, c.timer = Closed, vtime.Never
	if why != Orderly {
		c.ackDue, c.dups, c.resend = false, 0, false
	}
}

// PollTimer returns when HandleTimer wants to be called.
func (c *Conn) PollTimer() (vtime.Time, bool) { return c.timer, c.timer != vtime.Never }

// HandleTimer sends again what the peer should have acknowledged by now (RFC 6298, 5.4 to 5.7). An early call does
// nothing.
func (c *Conn) HandleTimer(now vtime.Time) {
	if now < c.timer {
		return
	}
	c.timer = vtime.Never
	if c.out.Len() == 0 {
		return
	}
	if c.tries == c.cfg.Retries {
		c.end(TimedOut)
		return
	}
	c.count.Timeouts++
	c.cong.timeout(c.sent, c.sent.Sub(c.una), c.tries == 0)
	c.rtt.backoff()
	c.tries++
	c.cursor, c.resend = 0, false
	c.timer = now.Add(c.rtt.rto)
}
