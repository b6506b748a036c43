package rciwarp

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/mpa"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// wqe is a work request in the send queue.
type wqe struct {
	engine.WorkRequest
	sent    uint32 // bytes of its message handed to TCP; 0 <= sent <= Len; unused for READ
	written bool   // the whole message, or the request of a READ, is handed to TCP
	end     uint64 // offset in the stream after the message; valid if written
	msn     uint32 // of the message; for a READ also the STag of the data sink
	got     uint32 // READ: bytes of data placed; 0 <= got <= Len
	done    bool   // READ: all data is placed
}

// sendQueue holds the work requests that have not completed, oldest first.
type sendQueue struct {
	ring.Ring[wqe]
	next    int    // index of the request that is sent next; all before it are written
	msn     uint32 // of the next SEND; the first is 1 (RFC 5041, 4.3)
	readMSN uint32 // of the next READ request
	reading int    // READs whose request is written and whose data is incomplete; 0 <= reading <= MaxRdAtomic
	acked   uint64 // bytes of the stream acknowledged by the peer's TCP
}

// oldest returns the oldest request, nil if there is none.
func (q *sendQueue) oldest() *wqe {
	if q.Len() == 0 {
		return nil
	}
	return q.At(0)
}

// Post implements engine.Requester.
func (s *stream) Post(_ vtime.Time, wr engine.WorkRequest) error {
	switch {
	case s.failed:
		return engine.ErrQPState
	case wr.Op == engine.OpRead && s.qp.MaxRdAtomic == 0:
		return fmt.Errorf("rciwarp: READ: MaxRdAtomic is 0")
	case wr.Op != engine.OpSend && wr.Op != engine.OpSendInv && wr.Op != engine.OpWrite && wr.Op != engine.OpRead:
		return fmt.Errorf("rciwarp: %s: iWARP has SEND, SEND_INV, WRITE and READ", wr.Op)
	case s.sq.Len() == s.qp.QueueDepth:
		return engine.ErrQueueFull
	}
	s.sq.Push(wqe{WorkRequest: wr})
	return nil
}

// sendMessage sends the next segment. A message is sent to its end before the next begins; READ responses and requests
// alternate. If there is neither and the responder waits for a first FPDU, the initiator sends an empty WRITE.
func (s *stream) sendMessage() {
	w := s.request()
	switch {
	case s.replies.begun, s.replies.Len() > 0 && (w == nil || w.sent == 0 && !s.replied):
		s.sendReply()
		s.replied = true
	case w != nil:
		s.sendRequest(w)
		s.replied = false
	case s.rtr:
		s.segment(&iwarp.Segment{Opcode: iwarp.Write, Tagged: true, Last: true}, nil, 0)
	}
}

// request returns the request that may send a segment now.
func (s *stream) request() *wqe {
	if s.sq.next == s.sq.Len() {
		return nil
	}
	w := s.sq.At(s.sq.next)
	if w.Op == engine.OpRead && s.sq.reading == s.qp.MaxRdAtomic {
		return nil
	}
	return w
}

// sendRequest sends one segment of a request.
func (s *stream) sendRequest(w *wqe) {
	seg := iwarp.Segment{STag: w.RKey}
	left := w.Len - w.sent
	switch w.Op {
	case engine.OpRead:
		s.sendReadRequest(w)
		return
	case engine.OpWrite:
		seg.Opcode, seg.Tagged, seg.TO = iwarp.Write, true, w.RemoteVA+uint64(w.sent)
	default:
		if w.sent == 0 {
			w.msn = s.sq.msn
			s.sq.msn++
		}
		seg.Opcode, seg.MSN, seg.MO, seg.STag = sendOpcode(w), w.msn, w.sent, w.InvKey
	}
	n := min(left, uint32(s.room(&seg)))
	seg.Last = n == left
	s.segment(&seg, s.mem.Load(w.LocalVA+uint64(w.sent), int(n)), int(n))
	w.sent += n
	if seg.Last {
		s.sentAll(w)
	}
}

// sendOpcode returns which of the four SENDs a request is (RFC 5040, 4.3).
func sendOpcode(w *wqe) iwarp.Opcode {
	switch {
	case w.Op == engine.OpSendInv && w.Solicited:
		return iwarp.SendSEInv
	case w.Op == engine.OpSendInv:
		return iwarp.SendInv
	case w.Solicited:
		return iwarp.SendSE
	}
	return iwarp.Send
}

// sentAll moves on to the request after w.
func (s *stream) sentAll(w *wqe) {
	w.written, w.end = true, s.offset+uint64(len(s.buf))
	s.sq.next++
}

// room returns the largest payload of a segment.
func (s *stream) room(seg *iwarp.Segment) int { return s.framer.Limit(s.mss) - seg.HeaderLen() }

// zeros is the payload sent from memory that has no bytes (engine.Memory.Load returns nil).
var zeros [mpa.MaxULPDU]byte

// segment frames a segment with n bytes of payload; a nil payload is sent as zeros.
func (s *stream) segment(seg *iwarp.Segment, payload []byte, n int) {
	if payload == nil {
		payload = zeros[:n]
	}
	seg.DDP, seg.RDMAP, s.rtr = iwarp.Version, iwarp.Version, false
	s.head = seg.AppendHeader(s.head[:0])
	s.buf = s.framer.Append(s.buf, s.head, payload)
}

// complete ends, in order, the oldest requests: a READ whose data is placed, another request that the peer's TCP has
// acknowledged.
func (s *stream) complete() {
	for w := s.sq.oldest(); w != nil && w.written; w = s.sq.oldest() {
		if w.Op == engine.OpRead && !w.done || w.Op != engine.OpRead && w.end > s.sq.acked {
			return
		}
		s.finish(w, engine.StatusSuccess)
	}
}

// finish ends the oldest request. An error is signalled even if the request is unsignalled.
func (s *stream) finish(w *wqe, status engine.Status) {
	if !w.Unsignal || status != engine.StatusSuccess {
		s.events.Push(engine.Event{Kind: engine.CQE, Status: status, Op: w.Op, ID: w.ID, PSN: s.qp.SendPSN})
	}
	if w.written {
		s.sq.next--
		if w.Op == engine.OpRead && !w.done {
			s.sq.reading--
		}
	}
	s.sq.Drop()
}
