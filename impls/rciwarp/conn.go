package rciwarp

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/tcp"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/tcplite"
)

// conn is a stream over a connection of TCP-lite. Both halves of the QP are views of one conn: packets and events are
// returned by whichever half is polled first.
type conn struct {
	*stream
	tcp      *tcplite.Conn
	up       bool // the stream was told that the connection is established
	host     *Host
	timeouts int64 // timeouts of TCP that have been reported as events
}

// newConn creates a connection that is not open. The initial sequence number is derived from SendPSN, so that a start
// PSN near the wrap of PSNs is also near the wrap of sequence numbers.
func newConn(qp *engine.QP, cfg config, mem engine.Memory, h *Host) (*conn, error) {
	s := newStream(qp, cfg, mem)
	own := tcplite.Config{LocalPort: iwarp.Port, RemotePort: iwarp.PortOf(qp.DestQPN), ISS: firstSeq(qp.SendPSN),
		Active: s.active,
		MSS:    cfg.mss, Window: cfg.window, MinRTO: cfg.minRTO, Retries: cfg.retries}
	if s.active {
		own.LocalPort, own.RemotePort = iwarp.PortOf(qp.QPN), iwarp.Port
	}
	t, err := tcplite.New(own)
	if err != nil {
		return nil, err
	}
	if room := tcp.HeaderLen + tcp.MaxOptions + cfg.mss; len(h.segment) < room {
		h.segment = make([]byte, room)
	}
	return &conn{stream: s, tcp: t, host: h}, nil
}

// firstSeq scales a PSN of 24 bits to a sequence number of 32 bits.
func firstSeq(p psn.PSN) tcp.Seq { return tcp.Seq(p << 8) }

// HandlePacket implements engine.Engine. Requests completed by the ACK complete before the data of the same segment is
// processed.
func (c *conn) HandlePacket(now vtime.Time, p *roce.Packet) {
	if p.Opcode != roce.TCP {
		return
	}
	c.tcp.HandleSegment(now, p.Payload)
	c.Acked(c.tcp.Acked())
	c.rise()
	for b := c.tcp.Read(); b != nil; b = c.tcp.Read() {
		c.Take(now, b)
	}
	c.settle()
}

// rise reports to the stream, once, that the connection is established.
func (c *conn) rise() {
	if !c.up && c.tcp.State() == tcplite.Established {
		c.up = true
		c.Up(c.tcp.MSS())
	}
}

// settle passes the end of one layer to the other: the end of the connection takes the stream down, and a stream that
// has ended closes its half of the connection.
func (c *conn) settle() {
	switch c.tcp.End() {
	case tcplite.TimedOut:
		c.Down(engine.StatusRetryExceeded)
	case tcplite.Reset, tcplite.Orderly:
		c.Down(engine.StatusRemoteOp)
	}
	if c.tcp.PeerClosed() {
		c.PeerClosed()
	}
	if c.Closing() {
		c.tcp.Close()
	}
}

// HandleTimer implements engine.Engine. The first call opens the connection.
func (c *conn) HandleTimer(now vtime.Time) {
	c.tcp.Open()
	c.tcp.HandleTimer(now)
	if n := c.tcp.Counts().Timeouts; n != c.timeouts {
		c.timeouts = n
		c.events.Push(engine.Event{Kind: engine.Timeout, PSN: c.qp.SendPSN})
	}
	c.settle()
}

// PollTransmit implements engine.Engine: a segment with one FPDU or less, so that the payload of each new segment
// begins with an FPDU. The packet is valid until the next call for any QP of the host.
func (c *conn) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	c.tcp.Open()
	if c.tcp.Room() {
		c.tcp.Write(c.Next(c.host.segment[:0]))
		c.settle()
	}
	n, ok := c.tcp.Poll(now, c.host.segment)
	if ok {
		*p = roce.Packet{BTH: roce.BTH{Opcode: roce.TCP}, Payload: c.host.segment[:n], Len: n}
	}
	return ok
}

// PollTimer implements engine.Engine. The end that opens the connection asks for a call at once.
func (c *conn) PollTimer() (vtime.Time, bool) {
	if c.active && c.tcp.State() == tcplite.Listen {
		return 0, true
	}
	return c.tcp.PollTimer()
}

// Flush implements engine.Engine. A Terminate that is due is still sent, and so is the FIN.
func (c *conn) Flush(now vtime.Time) {
	c.stream.Flush(now)
	c.settle()
}

// Vars implements engine.Inspector.
func (c *conn) Vars(list []engine.Var) []engine.Var {
	cwnd, flight := c.tcp.Window()
	n := c.tcp.Counts()
	return append(list,
		engine.Var{Name: "tcp_state", Value: int64(c.tcp.State())},
		engine.Var{Name: "cwnd", Value: int64(cwnd)},
		engine.Var{Name: "flight", Value: int64(flight)},
		engine.Var{Name: "resent", Value: n.Resent},
		engine.Var{Name: "fast_retransmits", Value: n.FastRetransmits},
		engine.Var{Name: "timeouts", Value: n.Timeouts},
		engine.Var{Name: "dup_acks", Value: n.DupACKs},
		engine.Var{Name: "markers", Value: engine.Flag(c.framer.Markers)},
		engine.Var{Name: "crc", Value: engine.Flag(c.framer.CRC)},
		engine.Var{Name: "failed", Value: engine.Flag(c.failed)},
		engine.Var{Name: "state_bytes", Value: int64(c.tcp.Bytes())})
}

// Requester is the view of the connection that posts work requests.
type Requester struct{ *conn }

// Responder is the view of the connection that posts receives.
type Responder struct{ *conn }

// Vars hides the variables of the connection, because the requester returns them.
func (r *Responder) Vars(list []engine.Var) []engine.Var { return list }

var (
	_ engine.Requester = (*Requester)(nil)
	_ engine.Inspector = (*Requester)(nil)
	_ engine.Responder = (*Responder)(nil)
)
