package rciwarp

import (
	"errors"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/mpa"
)

// Up implements engine.Stream. The initiator asks; the responder waits to be asked (RFC 5044, 7.1).
func (s *stream) Up(mss int) {
	s.mss = min(s.cfg.mss, mss)
	s.greet = s.active
}

// sendSetup sends the start-up frame that is due. What this end asks for, it asks for its own direction: markers in
// what it receives.
func (s *stream) sendSetup() {
	s.greet = false
	f := mpa.Setup{Reply: !s.active, Markers: s.cfg.markers, CRC: s.cfg.crc, Reject: s.refuse, Revision: mpa.Revision}
	s.buf = f.Append(s.buf)
}

// takeSetup takes what b has of the peer's start-up frame, and returns what follows it.
func (s *stream) takeSetup(b []byte) []byte {
	known := len(s.greeting)
	s.greeting = append(s.greeting, b[:min(len(b), maxGreeting-known)]...)
	f, n, err := mpa.DecodeSetup(s.greeting)
	switch {
	case err == nil && n == 0:
		return nil
	case err != nil || f.Reply != s.active || f.Reject:
		s.refuse, s.greet = !s.active, !s.active
		s.phase = ended
		s.breaks(engine.StatusRemoteInvalid)
		return nil
	}
	s.agree(&f)
	return b[n-known:]
}

// maxGreeting is the longest start-up frame.
const maxGreeting = 20 + mpa.MaxPrivate

// agree begins the full operation phase: markers where the receiver wants them, CRCs in both directions when either end
// wants them (RFC 5044, 7.1.1).
func (s *stream) agree(peer *mpa.Setup) {
	crc := s.cfg.crc || peer.CRC
	s.framer = mpa.Framer{Markers: peer.Markers, CRC: crc}
	s.deframer = mpa.Deframer{Markers: s.cfg.markers, CRC: crc}
	s.greeting = nil
	if s.active {
		s.phase, s.rtr = open, true
	} else {
		s.phase, s.greet = armed, true
	}
}

// terminateMPA ends a stream whose framing is broken: "2" a wrong CRC, "3" a marker that does not fit (RFC 5044, 8).
func (s *stream) terminateMPA(err error) {
	code := uint8(codeCRC)
	if errors.Is(err, mpa.ErrMarker) {
		code = codeMarker
	}
	s.terminate(iwarp.LayerLLP, 0, code, nil)
}
