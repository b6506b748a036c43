package tcplite

import (
	"fmt"
	"unsafe"

	"github.com/rdma-gauntlet/gauntlet/harness/tcp"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// Config is the attributes of a connection.
type Config struct {
	LocalPort, RemotePort uint16
	ISS                   tcp.Seq        // first sequence number of this side
	Active                bool           // this side sends the SYN
	MSS                   int            // largest data of a segment in both directions, unless the peer asks for less
	Window                int            // receive window in bytes; constant
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

// State is the state of a connection.
type State uint8

// The states are those of RFC 9293, 3.3.2, without the ones that only distinguish orders of closing.
const (
	Listen State = iota
	SynSent
	SynReceived
	Established
	FinWait // this side has called Close
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

// End is how a connection ended.
type End uint8

// The ends.
const (
	Alive    End = iota
	Orderly      // both FINs are received and acknowledged
	Reset        // a RST arrived, or Abort was called
	TimedOut     // the peer did not answer
)

// record is the data of one segment, written and not fully acknowledged.
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
	mss   int // largest data of a segment: the smaller of the two sides' MSS

	// The sending direction. Invariant: una <= nxt() <= sent.
	una    tcp.Seq           // oldest sequence number not acknowledged
	sent   tcp.Seq           // sequence number after the highest sent (snd_max)
	out    ring.Ring[record] // records not fully acknowledged, oldest first
	cursor int               // index in out of the record sent next; the records before it are in flight
	data   bytesAt           // bytes of the records
	resend bool              // the first record is to be retransmitted, regardless of the windows
	cong   newReno
	rtt    estimator
	timer  vtime.Time // deadline of the retransmission timer; Never when off
	tries  int        // timeouts since the last progress of una; 0 <= tries <= Retries
	peer   struct {
		window int // bytes that the peer accepts after una
		scale  uint8
	}

	// The receiving direction. Invariant: readNxt <= rcvNxt, but for the peer's FIN.
	rcvNxt  tcp.Seq // next sequence number expected
	readNxt tcp.Seq // sequence number of the next byte that Read returns
	direct  []byte  // data of the current segment, if it arrived in order and no data waits in store
	early   reassembly
	store   bytesAt
	finSeq  tcp.Seq // sequence number of the peer's FIN, if finSeen
	finSeen bool    // the peer's FIN has arrived
	gotFIN  bool    // and all data before it, so that rcvNxt is after it

	ackDue bool // an ACK is to be sent, alone or with data
	dups   int  // duplicate ACKs to be sent alone, one for each segment out of order
	rst    bool // a RST is to be sent
	count  Counts
}

// Counts are the event counters of a connection.
type Counts struct {
	Sent, Resent, Timeouts, FastRetransmits, DupACKs int64
}

// New returns a connection. The error names the rejected attribute.
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

// Open queues the SYN of an active connection. Later calls, and calls for a passive connection, do nothing.
func (c *Conn) Open() {
	if c.state == Listen && c.cfg.Active {
		c.state = SynSent
		c.push(0, tcp.SYN)
	}
}

// State returns the state of the connection.
func (c *Conn) State() State { return c.state }

// End returns how the connection ended, or Alive.
func (c *Conn) End() End { return c.ended }

// Counts returns the event counters.
func (c *Conn) Counts() Counts { return c.count }

// MSS returns the largest data of a segment.
func (c *Conn) MSS() int { return c.mss }

// Window returns the congestion window and the bytes in flight.
func (c *Conn) Window() (cwnd, flight int) { return c.cong.cwnd, c.sent.Sub(c.una) }

// Acked returns the number of written bytes that the peer has acknowledged.
func (c *Conn) Acked() uint64 { return c.data.gone }

// Bytes returns the memory of the connection in bytes: its state and its two buffers.
func (c *Conn) Bytes() int { return int(unsafe.Sizeof(*c)) + len(c.data.buf) + len(c.store.buf) }

// PeerClosed reports whether the peer's FIN and all data before it have arrived.
func (c *Conn) PeerClosed() bool { return c.gotFIN }

// Close sends a FIN after the written data; then this side only receives.
func (c *Conn) Close() {
	switch c.state {
	case Established:
		c.state = FinWait
		c.push(0, tcp.FIN)
	case Listen, SynSent, SynReceived:
		c.Abort()
	}
}

// Abort ends the connection at once, with a RST if the peer may know the connection.
func (c *Conn) Abort() {
	if c.state != Closed {
		c.rst = c.state != Listen && c.state != SynSent
		c.end(Reset)
	}
}

// end closes the connection. The reason of the first call is kept.
func (c *Conn) end(why End) {
	if c.ended == Alive {
		c.ended = why
	}
	c.state, c.timer = Closed, vtime.Never
	if why != Orderly {
		c.ackDue, c.dups, c.resend = false, 0, false
	}
}

// PollTimer returns when HandleTimer is to be called.
func (c *Conn) PollTimer() (vtime.Time, bool) { return c.timer, c.timer != vtime.Never }

// HandleTimer retransmits from una when the retransmission timer has expired (RFC 6298, 5.4 to 5.7). An early call does
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
