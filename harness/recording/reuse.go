package recording

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// reuse detects that the QPNs of a connection were reused for another one whose set-up was not captured. The PSNs of
// the other connection may begin anywhere, and its MTU may differ. That its MSN begins again distinguishes it from a
// faulty sender.
type reuse struct {
	msn psn.MSN // MSN of the newest acknowledgement
	top psn.MSN // largest MSN of all answers
	// a request had a PSN far from the others, or the first PSN again, and no acknowledgement has passed since
	leapt   bool
	size    int  // payload of the latest packet that had to be full, bytes; 0 when a larger packet has passed since
	largest int  // largest payload since then, bytes
	resized bool // a packet showed another MTU, and no answer has passed since
	anew    bool // the QPNs were reused
}

// farPSN is the distance ahead of the newest request from which on a loss does not explain a PSN.
const farPSN = 64

// carries processes the payload of a packet.
func (l *reuse) carries(s *sighting) {
	n := int(s.payload)
	switch full := !s.opcode.EndsMessage() && roce.IsPathMTU(n); {
	case !s.sound || !s.opcode.HasPayload():
	case full:
		l.resized = l.resized || l.size != 0 && n != l.size || n < l.largest
		l.size, l.largest = n, n
	case l.size != 0 && n > l.size:
		l.resized, l.size, l.largest = true, 0, n
	default:
		l.largest = max(l.largest, n)
	}
}

// counted processes the MSN of an answer. If the MSN begins again together with the PSNs or the MTU, the answer is of
// another connection. A repeated READ response may carry an old MSN, so it proves nothing when only PSNs leapt.
func (l *reuse) counted(s *sighting) {
	n, ack := s.msn, s.opcode == roce.Acknowledge
	if s.opcode.Layout()&roce.LayoutAETH == 0 {
		return
	}
	l.anew = l.anew || l.resized && (l.leapt || n < l.top) || ack && l.leapt && 2*n < l.msn
	l.resized, l.top = false, max(l.top, n)
	if ack {
		l.leapt, l.msn = false, n
	}
}

// again reports whether the QPNs were, or may have been, reused: in the second case packets of another MTU have no
// answer yet.
func (l *reuse) again() bool { return l.anew || l.resized }
