package rciwarp

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
)

// Error types of RDMAP and of DDP (RFC 5040, 4.8, figure 9).
const (
	typeProtection = 1 // RDMAP: remote protection error
	typeOperation  = 2 // RDMAP: remote operation error
	typeTagged     = 1 // DDP: tagged buffer error
	typeUntagged   = 2 // DDP: untagged buffer error
)

// Error codes (RFC 5040, 4.8; RFC 5041, 8.2). The first two are the same for protection errors of RDMAP and tagged
// buffer errors of DDP; see taggedCode.
const (
	codeSTag             = 0
	codeBounds           = 1
	codeRights           = 2 // RDMAP
	codeWrap             = 4 // RDMAP
	codeTaggedWrap       = 3 // DDP, tagged
	codeTaggedVersion    = 4 // DDP, tagged
	codeCannotInvalidate = 9

	codeVersion      = 5 // RDMAP, operation
	codeOpcode       = 6
	codeCatastrophic = 7

	codeQN              = 1 // DDP, untagged
	codeNoBuffer        = 2
	codeMSNRange        = 3
	codeMO              = 4
	codeTooLong         = 5
	codeUntaggedVersion = 6

	codeCRC    = 2 // MPA (RFC 5044, 8)
	codeMarker = 3
)

// taggedCode converts the code of an RDMAP protection error to that of a DDP tagged buffer error. DDP has no code for a
// missing right: the tag counts as invalid for the access.
func taggedCode(code uint8) uint8 {
	switch code {
	case codeRights:
		return codeSTag
	case codeWrap:
		return codeTaggedWrap
	}
	return code
}

// refuseUntagged ends the stream because of an untagged segment.
func (s *stream) refuseUntagged(code uint8, seg *iwarp.Segment) {
	s.terminate(iwarp.LayerDDP, typeUntagged, code, seg)
}

// terminate ends the stream with a Terminate that reports the error of seg; nil if the segment is not known. Nothing is
// sent after it, and received bytes are ignored.
func (s *stream) terminate(layer iwarp.Layer, kind, code uint8, seg *iwarp.Segment) {
	s.term = iwarp.TerminateBody{Layer: layer, Type: kind, Code: code}
	if seg != nil {
		s.term.Bits = iwarp.TerminateM | iwarp.TerminateD
		s.term.Length = uint16(seg.HeaderLen() + len(seg.Payload))
		s.term.Headers = seg.AppendHeader(nil)
		if seg.Opcode == iwarp.ReadRequest && len(seg.Payload) == iwarp.ReadBodyLen {
			s.term.Bits |= iwarp.TerminateR
			s.term.Headers = append(s.term.Headers, seg.Payload...)
		}
	}
	s.phase = ending
	if seg != nil && seg.Opcode == iwarp.ReadResp { // the peer answered a READ wrongly: the oldest request fails
		s.breaks(engine.StatusRemoteOp)
		return
	}
	s.fatal(statusOf(&s.term))
}

// sendTerminate sends the Terminate, the only message of its queue (RFC 5040, 4.8).
func (s *stream) sendTerminate() {
	s.phase = ended
	s.termBuf = s.term.Append(s.termBuf[:0])
	s.segment(&iwarp.Segment{Opcode: iwarp.Terminate, QN: iwarp.QueueTerminate, MSN: 1, Last: true},
		s.termBuf, len(s.termBuf))
}

// takeTerminate ends the stream after a Terminate of the peer. The oldest request completes with the error, although
// the Terminate names the segment: a WRITE acknowledged by TCP has completed by then.
func (s *stream) takeTerminate(seg *iwarp.Segment) {
	var t iwarp.TerminateBody
	status := engine.StatusRemoteOp
	if t.Decode(seg.Payload) == nil {
		status = statusOf(&t)
	}
	s.phase = ended
	s.breaks(status)
}

// statusOf converts the error of a Terminate to a completion status.
func statusOf(t *iwarp.TerminateBody) engine.Status {
	switch {
	case t.Layer == iwarp.LayerRDMAP && t.Type == typeProtection, t.Layer == iwarp.LayerDDP && t.Type == typeTagged:
		return engine.StatusRemoteAccess
	case t.Layer == iwarp.LayerRDMAP && t.Type == typeOperation, t.Layer == iwarp.LayerDDP && t.Type == typeUntagged:
		return engine.StatusRemoteInvalid
	}
	return engine.StatusRemoteOp
}
