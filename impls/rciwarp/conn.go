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

// conn is a stream over its own TCP. Both halves of the QP are views of it: whatever either is called with, the
// connection sends and reports through the one that is asked first.
type conn struct {
	*stream
	tcp      *tcplite.Conn
	up       bool
	host     *Host
	timeouts int64 // as far as they have been reported
}

// newConn makes a connection that is not open. Its sequence numbers begin where those of a RoCE QP would, so that one
// setting of the start takes either across its wrap.
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

// firstSeq stretches a PSN of 24 bits over the 32 of a sequence number.
func firstSeq(p psn.PSN) tcp.Seq { return tcp.Seq(p << 8) }

// HandlePacket implements engine.Engine. What an ACK completes, completes before the data behind it is looked at.
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

// rise tells the stream once that the connection is established.
func (c *conn) rise() {
	if !c.up && c.tcp.State() == tcplite.Established {
		c.up = true
		c.Up(c.tcp.MSS())
	}
}

// settle carries the end of one layer to the other: a stream that is done closes its half of the connection, and one
// whose connection has ended is down.
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

// PollTransmit implements engine.Engine: a segment whose payload is one FPDU or less, so that each begins with one. It
// is valid until the next call for any QP of the host.
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

// PollTimer implements engine.Engine. An end that is to open the connection wants to be called at once.
func (c *conn) PollTimer() (vtime.Time, bool) {
	if c.active && c.tcp.State() == tcplite.Listen {
		return 0, true
	}
	return c.tcp.PollTimer()
}

// Flush implements engine.Engine. A Terminate that is due still leaves, and so does the FIN.
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

// Requester is the half that posts.
type Requester struct{ *conn }

// Responder is the half that receives.
type Responder struct{ *conn }

// Vars hides those of the connection, which the requester shows.
func (r *Responder) Vars(list []engine.Var) []engine.Var { return list }

var (
	_ engine.Requester = (*Requester)(nil)
	_ engine.Inspector = (*Requester)(nil)
	_ engine.Responder = (*Responder)(nil)
)
