package rciwarp

import (
	"errors"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/mpa"
)

// Up implements engine.Stream. The initiator sends its start-up frame first, the responder answers it (RFC 5044, 7.1).
func (s *stream) Up(mss int) {
	s.mss = min(s.cfg.mss, mss)
	s.setupDue = s.active
}

// sendSetup sends the start-up frame that is due. The markers that it asks for are those in the direction that this end
// receives.
func (s *stream) sendSetup() {
	s.setupDue = false
	f := mpa.Setup{Reply: !s.active, Markers: s.cfg.markers, CRC: s.cfg.crc, Reject: s.refuse, Revision: mpa.Revision}
	s.buf = f.Append(s.buf)
}

// takeSetup consumes the peer's start-up frame, which may arrive in parts, and returns the rest of b.
func (s *stream) takeSetup(b []byte) []byte {
	known := len(s.peerSetup)
	s.peerSetup = append(s.peerSetup, b[:min(len(b), maxSetup-known)]...)
	f, n, err := mpa.DecodeSetup(s.peerSetup)
	switch {
	case err == nil && n == 0:
		return nil
	case err != nil || f.Reply != s.active || f.Reject || f.Revision != mpa.Revision:
		s.refuse, s.setupDue = !s.active, !s.active
		s.phase = ended
		s.breaks(engine.StatusRemoteInvalid)
		return nil
	}
	s.agree(&f)
	return b[n-known:]
}

// maxSetup is the longest start-up frame.
const maxSetup = 20 + mpa.MaxPrivate

// agree begins the full operation phase. Each direction has markers if its receiver asked for them; both directions
// have CRCs if either end asked for them (RFC 5044, 7.1.1).
func (s *stream) agree(peer *mpa.Setup) {
	crc := s.cfg.crc || peer.CRC
	s.framer = mpa.Framer{Markers: peer.Markers, CRC: crc}
	s.deframer = mpa.Deframer{Markers: s.cfg.markers, CRC: crc}
	s.peerSetup = nil
	if s.active {
		s.phase, s.rtr = open, true
	} else {
		s.phase, s.setupDue = armed, true
	}
}

// terminateMPA ends a stream whose framing is broken: code 2 is a wrong CRC, code 3 a wrong marker (RFC 5044, 8).
func (s *stream) terminateMPA(err error) {
	code := uint8(codeCRC)
	if errors.Is(err, mpa.ErrMarker) {
		code = codeMarker
	}
	s.terminate(iwarp.LayerLLP, 0, code, nil)
}
