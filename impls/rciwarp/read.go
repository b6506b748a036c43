package rciwarp

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// reply is a READ request of the peer that this end answers.
type reply struct {
	iwarp.ReadBody
	sent uint32 // bytes of data handed to TCP; 0 <= sent <= Len
}

// replyQueue holds the READ requests of the peer that are not fully answered, oldest first.
type replyQueue struct {
	ring.Ring[reply]
	begun bool // the oldest is partly answered: 0 < sent < Len
}

// sendReadRequest sends the request of a READ. The STag of the data sink is the MSN of the request, because only the
// response to that request may use the tag.
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

// takeReadRequest checks a READ request and queues its answer. Access rights are checked on arrival, with "Remote
// Protection Error" (RFC 5040, 4.8) on failure.
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

// sendReply sends one segment of the oldest answer. It is tagged with the STag and TO of the sink in the request (RFC
// 5040, 4.5).
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

// takeReadResponse places data of the oldest READ. A segment must begin where the one before ended, in the sink of the
// request.
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

// oldestRead returns the oldest READ whose data is incomplete, nil if none is outstanding.
func (s *stream) oldestRead() *wqe {
	for i := range s.sq.next {
		if w := s.sq.At(i); w.Op == engine.OpRead && !w.done {
			return w
		}
	}
	return nil
}

// blameRead ends the stream because of a response that fits no outstanding READ.
func (s *stream) blameRead(code uint8, seg *iwarp.Segment) {
	s.terminate(iwarp.LayerDDP, typeTagged, code, seg)
}
