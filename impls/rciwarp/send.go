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
	sent uint32 // bytes of its message that were handed to TCP
	gone bool   // all of it was; for a READ, its request
	end  uint64 // place in the stream after it
	msn  uint32 // of its message; for a READ also the STag of its sink
	got  uint32 // READ: bytes that came back
	done bool   // READ: all came back
}

// sendQueue holds the work requests that have not completed, oldest first.
type sendQueue struct {
	ring.Ring[wqe]
	next    int    // the request whose segment goes next; those before it are gone
	msn     uint32 // of the next SEND: "1" first, one more for each (RFC 5041, 4.3)
	readMSN uint32 // of the next READ request
	reading int    // READs that are gone and not done
	acked   uint64 // bytes of the stream that the peer's TCP has
}

// oldest returns the request that completes next, nil when there is none.
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

// sendMessage sends the next segment. A message that has begun goes on to its end; between messages, READ responses and
// requests take turns. Nothing else to send is when the initiator lets the responder begin.
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
	w.gone, w.end = true, s.offset+uint64(len(s.buf))
	s.sq.next++
}

// room returns the payload that a segment may have.
func (s *stream) room(seg *iwarp.Segment) int { return s.framer.Limit(s.mss) - seg.HeaderLen() }

// zeros is the payload of memory without bytes.
var zeros [mpa.MaxULPDU]byte

// segment frames a segment with n bytes of payload, which are zeros when there are none.
func (s *stream) segment(seg *iwarp.Segment, payload []byte, n int) {
	if payload == nil {
		payload = zeros[:n]
	}
	seg.DDP, seg.RDMAP, s.rtr = iwarp.Version, iwarp.Version, false
	s.head = seg.AppendHeader(s.head[:0])
	s.buf = s.framer.Append(s.buf, s.head, payload)
}

// complete ends the requests at the head of the queue whose work is done, in order.
func (s *stream) complete() {
	for w := s.sq.oldest(); w != nil && w.gone; w = s.sq.oldest() {
		if w.Op == engine.OpRead && !w.done || w.Op != engine.OpRead && w.end > s.sq.acked {
			return
		}
		s.finish(w, engine.StatusSuccess)
	}
}

// finish ends the oldest request. Errors are signalled even when the request asked for silence.
func (s *stream) finish(w *wqe, status engine.Status) {
	if !w.Unsignal || status != engine.StatusSuccess {
		s.events.Push(engine.Event{Kind: engine.CQE, Status: status, Op: w.Op, ID: w.ID, PSN: s.qp.SendPSN})
	}
	if w.gone {
		s.sq.next--
		if w.Op == engine.OpRead && !w.done {
			s.sq.reading--
		}
	}
	s.sq.Drop()
}
