package rciwarp

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/mpa"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// phase is the state of a stream.
type phase uint8

const (
	waiting phase = iota // the connection is not established, or the peer's start-up frame has not arrived
	// responder: the reply is due or sent, the initiator's first FPDU has not arrived (RFC 5044, 7.1)
	armed
	open   // both directions carry FPDUs
	ending // a Terminate is the last segment to send
	ended  // nothing more is sent, except a start-up frame that is due, and received bytes are ignored
)

// stream is one end of a QP above TCP. Next produces the bytes to send and Take consumes the bytes received, both in
// order.
type stream struct {
	qp     *engine.QP
	mem    engine.Memory
	cfg    config
	active bool // this end opened the connection: MPA's initiator
	phase  phase
	failed bool // the QP is in the error state
	events ring.Ring[engine.Event]

	// The sending direction.
	framer   mpa.Framer
	mss      int
	offset   uint64 // bytes of the stream handed to TCP
	buf      []byte // output of Next, during the call
	head     []byte // buffer for the header of a segment
	setupDue bool   // the start-up frame of this end is to be sent
	refuse   bool   // that frame is a reply with the reject bit
	rtr      bool   // initiator: no FPDU has been sent, and the responder waits for one
	sq       sendQueue
	replies  replyQueue
	replied  bool // the newest segment sent is of a READ response
	term     iwarp.TerminateBody
	termBuf  []byte

	// The receiving direction.
	deframer  mpa.Deframer
	peerSetup []byte // received part of the peer's start-up frame
	rq        receiveQueue
	readMSN   uint32 // MSN expected in the peer's next READ request
}

// newStream returns the end of a QP whose connection is not established.
func newStream(qp *engine.QP, cfg config, mem engine.Memory) *stream {
	s := &stream{qp: qp, mem: mem, cfg: cfg, active: qp.QPN < qp.DestQPN, mss: cfg.mss, readMSN: 1}
	s.sq.msn, s.sq.readMSN, s.rq.msn = 1, 1, 1
	return s
}

// TCP implements engine.Stream.
func (s *stream) TCP() engine.TCPOptions {
	return engine.TCPOptions{Active: s.active, MSS: s.cfg.mss, Congestion: s.cfg.congestion}
}

// PollEvent implements engine.Stream and engine.Engine.
func (s *stream) PollEvent() (engine.Event, bool) { return s.events.Pop() }

// Next implements engine.Stream: an FPDU or a start-up frame.
func (s *stream) Next(b []byte) []byte {
	s.buf, s.offset = b, s.offset-uint64(len(b))
	switch {
	case s.setupDue:
		s.sendSetup()
	case s.phase == ending:
		s.sendTerminate()
	case s.phase == open:
		s.sendMessage()
	}
	b, s.buf = s.buf, nil
	s.offset += uint64(len(b))
	return b
}

// Take implements engine.Stream.
func (s *stream) Take(now vtime.Time, b []byte) {
	for len(b) > 0 {
		switch s.phase {
		case waiting:
			b = s.takeSetup(b)
		case armed, open:
			var f *mpa.FPDU
			var err error
			if f, b, err = s.deframer.Next(b); err != nil {
				s.terminateMPA(err)
			} else if f != nil {
				s.takeFPDU(f)
			}
		default:
			return
		}
	}
}

// Acked implements engine.Stream.
func (s *stream) Acked(n uint64) {
	if !s.failed {
		s.sq.acked = n
		s.complete()
	}
}

// Closing implements engine.Stream.
func (s *stream) Closing() bool { return s.phase == ended && !s.setupDue }

// PeerClosed implements engine.Stream. A Terminate that is due is still sent: the direction to the peer is open.
func (s *stream) PeerClosed() {
	if s.phase != ending {
		s.Down(engine.StatusRemoteOp)
	}
}

// Down implements engine.Stream.
func (s *stream) Down(why engine.Status) {
	s.phase, s.setupDue = ended, false
	s.breaks(why)
}

// breaks moves the QP to the error state because of an error of the peer or the connection. The oldest request
// completes with that status.
func (s *stream) breaks(why engine.Status) {
	if w := s.sq.oldest(); w != nil && !s.failed {
		s.finish(w, why)
	}
	s.fatal(why)
}

// fatal moves the QP to the error state. The driver then flushes it.
func (s *stream) fatal(why engine.Status) {
	if !s.failed {
		s.failed = true
		s.events.Push(engine.Event{Kind: engine.Fatal, Status: why})
	}
}

// Flush implements engine.Stream. A Terminate that is due is still sent, and so is a reply with the reject bit.
func (s *stream) Flush(vtime.Time) {
	s.failed = true
	if s.phase != ending && !s.refuse {
		s.phase, s.setupDue = ended, false
	}
	for w := s.sq.oldest(); w != nil; w = s.sq.oldest() {
		s.finish(w, engine.StatusFlushed)
	}
	for rr, ok := s.rq.Pop(); ok; rr, ok = s.rq.Pop() {
		s.events.Push(engine.Event{Kind: engine.ReceiveCQE, Status: engine.StatusFlushed, Op: engine.OpSend, ID: rr.ID})
	}
}

var _ engine.Stream = (*stream)(nil)
