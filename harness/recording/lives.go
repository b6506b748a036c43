package recording

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// lives finds out whether QPNs were used again for another connection, where no set-up was captured. Its PSNs may begin
// anywhere and its MTU may be another one; what tells it from a sender that errs is that the MSN begins again.
type lives struct {
	msn psn.MSN // of the newest acknowledgement
	top psn.MSN // the largest of all answers
	// a request had a PSN far from the others, or the first one again, and no acknowledgement has passed since
	leapt   bool
	size    int  // bytes of the latest packet that had to be full; 0 when larger ones have passed since
	largest int  // payload since packets of that size began, bytes
	resized bool // a packet was of another MTU than those before, and no acknowledgement has passed since
	anew    bool // the connection began again
}

// farPSN is how far ahead of the newest request another one is that a loss does not explain.
const farPSN = 64

// carries follows the payload of a packet.
func (l *lives) carries(s *sighting) {
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

// counted follows the MSN of an answer. One that begins again together with the PSNs, or the MTU, is of another
// connection. A READ that is answered once more may have an MSN of its time, so it says nothing of PSNs that leap.
func (l *lives) counted(s *sighting) {
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

// again reports whether the connection began again, or may have: nothing has answered the packets of another MTU.
func (l *lives) again() bool { return l.anew || l.resized }
