package rciwarp

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/mpa"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// phase is where a stream is in its life.
type phase uint8

const (
	waiting phase = iota // TCP is not up, or the frame that the peer owes has not come
	armed                // responder: the reply is sent, the initiator's first FPDU has not come (RFC 5044, 7.1)
	open                 // both directions carry FPDUs
	ending               // a Terminate is to be sent, and nothing else
	ended                // nothing more is sent, and what comes is ignored
)

// stream is one end of a QP above TCP. Its bytes leave through Next and come in through Take, whole streams in order.
type stream struct {
	qp     *engine.QP
	mem    engine.Memory
	cfg    config
	active bool // this end opened the connection: MPA's initiator
	phase  phase
	failed bool // the QP is in the error state
	events ring.Ring[engine.Event]

	// What is sent.
	framer  mpa.Framer
	mss     int
	offset  uint64 // bytes of the stream handed to TCP so far
	buf     []byte // what Next appends to, during the call
	head    []byte // header of the segment at hand
	greet   bool   // a start-up frame is to be sent
	refuse  bool   // it is a reply that refuses
	rtr     bool   // an empty WRITE is to be sent, so that the responder may begin
	sq      sendQueue
	replies replyQueue
	replied bool // the message before was a READ response
	term    iwarp.TerminateBody
	termBuf []byte

	// What is received.
	deframer mpa.Deframer
	greeting []byte // the peer's start-up frame as far as it has come
	rq       receiveQueue
	readMSN  uint32 // of the next READ request
}

// newStream makes the end of a QP before its connection is up.
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
	case s.greet:
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
func (s *stream) Closing() bool { return s.phase == ended && !s.greet }

// PeerClosed implements engine.Stream. A Terminate that is due still leaves: the other direction is open.
func (s *stream) PeerClosed() {
	if s.phase != ending {
		s.Down(engine.StatusRemoteOp)
	}
}

// Down implements engine.Stream.
func (s *stream) Down(why engine.Status) {
	s.phase, s.greet = ended, false
	s.breaks(why)
}

// breaks moves the QP to the error state because of what the peer or the connection did; the oldest request is blamed.
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

// Flush implements engine.Stream. A Terminate that is due still leaves, and so does a reply that refuses.
func (s *stream) Flush(vtime.Time) {
	s.failed = true
	if s.phase != ending && !s.refuse {
		s.phase, s.greet = ended, false
	}
	for w := s.sq.oldest(); w != nil; w = s.sq.oldest() {
		s.finish(w, engine.StatusFlushed)
	}
	for rr, ok := s.rq.Pop(); ok; rr, ok = s.rq.Pop() {
		s.events.Push(engine.Event{Kind: engine.ReceiveCQE, Status: engine.StatusFlushed, Op: engine.OpSend, ID: rr.ID})
	}
}

var _ engine.Stream = (*stream)(nil)
