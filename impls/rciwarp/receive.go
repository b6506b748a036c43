package rciwarp

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/mpa"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// receiveQueue holds the posted receives, oldest first. The current SEND fills the oldest.
type receiveQueue struct {
	ring.Ring[engine.ReceiveRequest]
	msn uint32 // MSN expected in the current SEND
	got uint32 // bytes of the current SEND that are placed
}

// PostReceive implements engine.Responder.
func (s *stream) PostReceive(_ vtime.Time, rr engine.ReceiveRequest) error {
	switch {
	case s.failed:
		return engine.ErrQPState
	case s.rq.Len() == s.qp.ReceiveDepth:
		return engine.ErrQueueFull
	}
	s.rq.Push(rr)
	return nil
}

// takeFPDU processes one segment. The first one allows the responder to send.
func (s *stream) takeFPDU(f *mpa.FPDU) {
	s.phase = open
	var seg iwarp.Segment
	if seg.Decode(f.ULPDU) != nil {
		s.terminate(iwarp.LayerRDMAP, typeOperation, codeCatastrophic, nil)
		return
	}
	if !s.wellFormed(&seg) {
		return
	}
	switch {
	case seg.Opcode == iwarp.Write:
		s.takeWrite(&seg)
	case seg.Opcode == iwarp.ReadResp:
		s.takeReadResponse(&seg)
	case seg.Opcode == iwarp.ReadRequest:
		s.takeReadRequest(&seg)
	case seg.Opcode.IsSend():
		s.takeSend(&seg)
	default:
		s.takeTerminate(&seg)
	}
}

// wellFormed checks the versions and the opcode of a segment, and the queue of an untagged one. If one is invalid, it
// terminates the stream.
func (s *stream) wellFormed(seg *iwarp.Segment) bool {
	switch {
	case seg.DDP != iwarp.Version && seg.Tagged:
		s.terminate(iwarp.LayerDDP, typeTagged, codeTaggedVersion, seg)
	case seg.DDP != iwarp.Version:
		s.refuseUntagged(codeUntaggedVersion, seg)
	case seg.RDMAP != iwarp.Version:
		s.terminate(iwarp.LayerRDMAP, typeOperation, codeVersion, seg)
	case seg.Opcode > iwarp.Terminate || seg.Tagged != seg.Opcode.Tagged():
		s.terminate(iwarp.LayerRDMAP, typeOperation, codeOpcode, seg)
	case !seg.Tagged && seg.QN != seg.Opcode.Queue():
		s.refuseUntagged(codeQN, seg)
	default:
		return true
	}
	return false
}

// takeWrite places a segment of a WRITE. It completes no receive: the peer notifies the application by a SEND. An empty
// segment accesses no memory, so its tag is not checked.
func (s *stream) takeWrite(seg *iwarp.Segment) {
	n := len(seg.Payload)
	if n == 0 {
		return
	}
	if code, ok := s.permitted(seg.STag, seg.TO, uint32(n), engine.RemoteWrite); !ok {
		s.terminate(iwarp.LayerDDP, typeTagged, taggedCode(code), seg)
		return
	}
	s.mem.Store(seg.TO, seg.Payload, n)
}

// permitted reports whether a tag allows an access, and if not, the error code. If the tag allows the access to the
// first byte alone, the range is wrong; if it allows another access to the range, the right is wrong; otherwise the tag
// is invalid.
func (s *stream) permitted(stag uint32, to uint64, n uint32, want engine.Access) (code uint8, ok bool) {
	pd := s.qp.PD
	switch {
	case n == 0:
		return 0, true
	case to+uint64(n) < to:
		return codeWrap, false
	case s.qp.Access&want == 0:
		return codeRights, false
	case s.mem.Permit(pd, stag, to, n, want):
		return 0, true
	case s.mem.Permit(pd, stag, to, 1, want):
		return codeBounds, false
	case s.mem.Permit(pd, stag, to, n, engine.RemoteRead), s.mem.Permit(pd, stag, to, n, engine.RemoteWrite):
		return codeRights, false
	}
	return codeSTag, false
}

// takeSend places a segment of a SEND in the oldest receive, and completes the receive after the last segment (RFC
// 5041, 5).
func (s *stream) takeSend(seg *iwarp.Segment) {
	n := uint32(len(seg.Payload))
	switch {
	case seg.MSN != s.rq.msn:
		s.refuseUntagged(codeMSNRange, seg)
		return
	case s.rq.Len() == 0:
		s.refuseUntagged(codeNoBuffer, seg)
		return
	case seg.MO != s.rq.got:
		s.refuseUntagged(codeMO, seg)
		return
	}
	rr := s.rq.At(0)
	if n > rr.Len-s.rq.got {
		s.refuseUntagged(codeTooLong, seg)
		return
	}
	if n > 0 && !s.mem.Store(rr.VA+uint64(s.rq.got), seg.Payload, int(n)) {
		s.refuseUntagged(codeTooLong, seg)
		return
	}
	if s.rq.got += n; seg.Last {
		s.received(seg)
	}
}

// received completes the oldest receive. A SEND with invalidate invalidates its tag first.
func (s *stream) received(seg *iwarp.Segment) {
	ev := engine.Event{Kind: engine.ReceiveCQE, Op: engine.OpSend, ID: s.rq.At(0).ID, Len: s.rq.got, PSN: s.qp.RecvPSN}
	if seg.Opcode == iwarp.SendInv || seg.Opcode == iwarp.SendSEInv {
		if !s.mem.Invalidate(seg.STag) {
			s.terminate(iwarp.LayerRDMAP, typeProtection, codeCannotInvalidate, seg)
			return
		}
		ev.Op, ev.InvKey = engine.OpSendInv, seg.STag
	}
	s.events.Push(ev)
	s.rq.Drop()
	s.rq.msn, s.rq.got = s.rq.msn+1, 0
}
