package rciwarp

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// reply is a READ that this end answers.
type reply struct {
	iwarp.ReadBody
	sent uint32
}

// replyQueue holds the READ requests that are not answered yet, oldest first.
type replyQueue struct {
	ring.Ring[reply]
	begun bool // a segment of the oldest has been sent
}

// sendReadRequest asks for the data of a READ. The steering tag of the sink is the request's number, because nothing
// but the response to it may use it.
func (s *stream) sendReadRequest(w *wqe) {
	w.msn = s.sq.readMSN
	s.sq.readMSN++
	body := iwarp.ReadBody{SinkSTag: w.msn, SinkTO: w.LocalVA, Len: w.Len, SrcSTag: w.RKey, SrcTO: w.RemoteVA}
	s.termBuf = body.Append(s.termBuf[:0])
	s.segment(&iwarp.Segment{Opcode: iwarp.ReadRequest, QN: iwarp.QueueRead, MSN: w.msn, Last: true},
		s.termBuf, len(s.termBuf))
	s.sq.reading++
	s.sentAll(w)
}

// takeReadRequest checks a READ request and queues its answer. What it may read is judged when it comes: "Remote
// Protection Error" (RFC 5040, 4.8).
func (s *stream) takeReadRequest(seg *iwarp.Segment) {
	var body iwarp.ReadBody
	err := body.Decode(seg.Payload)
	switch {
	case seg.MSN != s.readMSN:
		s.refuseUntagged(codeMSNRange, seg)
	case err != nil, seg.MO != 0, !seg.Last:
		s.refuseUntagged(codeMO, seg)
	case s.replies.Len() == s.qp.MaxDestRd:
		s.refuseUntagged(codeNoBuffer, seg)
	default:
		if code, ok := s.permitted(body.SrcSTag, body.SrcTO, body.Len, engine.RemoteRead); !ok {
			s.terminate(iwarp.LayerRDMAP, typeProtection, code, seg)
			return
		}
		s.readMSN++
		s.replies.Push(reply{ReadBody: body})
	}
}

// sendReply sends one segment of the oldest answer: "The Data Source of the RDMA Read uses the STag and TO that the
// request named" is what makes it tagged (RFC 5040, 4.5).
func (s *stream) sendReply() {
	r := s.replies.At(0)
	seg := iwarp.Segment{Opcode: iwarp.ReadResp, Tagged: true, STag: r.SinkSTag, TO: r.SinkTO + uint64(r.sent)}
	n := min(r.Len-r.sent, uint32(s.room(&seg)))
	seg.Last = r.sent+n == r.Len
	s.segment(&seg, s.mem.Load(r.SrcTO+uint64(r.sent), int(n)), int(n))
	r.sent += n
	if s.replies.begun = !seg.Last; seg.Last {
		s.replies.Drop()
	}
}

// takeReadResponse places data of the oldest READ. It must go on where the last segment ended, in the sink that was
// named.
func (s *stream) takeReadResponse(seg *iwarp.Segment) {
	w := s.oldestRead()
	n := uint32(len(seg.Payload))
	switch {
	case w == nil || seg.STag != w.msn:
		s.blameRead(codeSTag, seg)
		return
	case seg.TO != w.LocalVA+uint64(w.got), n > w.Len-w.got, seg.Last != (n == w.Len-w.got):
		s.blameRead(codeBounds, seg)
		return
	}
	if n > 0 && !s.mem.Store(seg.TO, seg.Payload, int(n)) {
		s.blameRead(codeBounds, seg)
		return
	}
	if w.got += n; seg.Last {
		w.done = true
		s.sq.reading--
		s.complete()
	}
}

// oldestRead returns the READ whose data comes next, nil when none is outstanding.
func (s *stream) oldestRead() *wqe {
	for i := range s.sq.next {
		if w := s.sq.At(i); w.Op == engine.OpRead && !w.done {
			return w
		}
	}
	return nil
}

// blameRead ends the stream because of a response that nobody asked for.
func (s *stream) blameRead(code uint8, seg *iwarp.Segment) {
	s.terminate(iwarp.LayerDDP, typeTagged, code, seg)
}
