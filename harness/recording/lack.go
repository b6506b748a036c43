package recording

import (
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// lack looks for requests of one half-conversation that passed a tap and are not in the capture: those with a later one before them
// that were acknowledged, although the tap has not seen them. Of a packet that was lost nobody acknowledges anything.
type lack struct {
	begun  bool
	newest psn.PSN // behind the newest request
	start  psn.PSN // of the first
	holes  []hole  // in order
	ahead  psn.PSN // newest that was acknowledged and not seen, when far
	far    bool
	signs  []psn.PSN // acknowledged and never seen before, the first few
	middle bool      // what came before the first request seen was not done with
	blind  bool      // an acknowledgement passed before any request
}

// hole is PSNs that were skipped.
type hole struct{ from, to psn.PSN }

// Bounds of what is remembered of a half-conversation, and of what is taken for frames that a capture missed: more are a PSN that is
// wrong.
const (
	holeLimit = 32
	signLimit = 8
	skipLimit = 1 << 15
)

// request follows a request, which takes the PSNs up to end.
func (l *lack) request(p, end psn.PSN) {
	switch {
	case !l.begun:
		l.begun, l.start, l.newest = true, p, end
		return
	case p.Less(l.newest):
		l.before(p)
		l.fill(p, end)
	case p.Sub(l.newest) >= skipLimit:
		return
	case p != l.newest && l.far && p.Sub(l.ahead) > 0:
		l.sign(l.newest)
	case p != l.newest && len(l.holes) < holeLimit:
		l.holes = append(l.holes, hole{l.newest, p})
	}
	l.far = false
	l.newest = psn.Max(l.newest, end)
}

// before notes that a request is sent or asked for that came before the first one seen.
func (l *lack) before(p psn.PSN) {
	if d := l.start.Sub(p); l.begun && d > 0 && d < skipLimit {
		l.middle = true
	}
}

// fill takes a request that comes late out of the holes.
func (l *lack) fill(p, end psn.PSN) {
	if len(l.holes) == 0 {
		return
	}
	var left []hole
	for _, h := range l.holes {
		if h.to.LessEq(p) || end.LessEq(h.from) {
			left = append(left, h)
			continue
		}
		if h.from.Less(p) {
			left = append(left, hole{h.from, p})
		}
		if end.Less(h.to) {
			left = append(left, hole{end, h.to})
		}
	}
	l.holes = left
}

// acknowledged follows an answer that says that all requests before p were received.
func (l *lack) acknowledged(p psn.PSN) {
	if !l.begun {
		l.blind = true
		return
	}
	if l.newest.Less(p) && p.Sub(l.newest) < skipLimit {
		l.ahead, l.far = p.Add(-1), true
	}
	l.holes = slices.DeleteFunc(l.holes, func(h hole) bool {
		covered := h.from.Less(p) && p.LessEq(l.newest)
		if covered {
			l.sign(h.from)
		}
		return covered
	})
}

// sign notes one.
func (l *lack) sign(p psn.PSN) {
	if len(l.signs) < signLimit {
		l.signs = append(l.signs, p)
	}
}

// close is called when all has been read: what was acknowledged to the end, and not seen, was missed.
func (l *lack) close() {
	if l.far {
		l.sign(l.newest)
	}
}

// response follows an answer, which may say how far its sender has received.
func (l *lack) response(p *roce.Packet) {
	switch {
	case !grants(p):
		l.before(p.PSN)
	case p.Opcode.IsReadResponse(), p.Opcode == roce.AtomicAck: // to a request that may have been sent again
		l.acknowledged(p.PSN)
	default:
		l.acknowledged(p.PSN.Next())
	}
}

// why says what l found; "" when there is nothing, or when the other tap lacks the same. Then nobody sent it.
func (l *lack) why(other *lack) string {
	for _, p := range l.signs {
		if other == nil || !slices.Contains(other.signs, p) {
			return fmt.Sprintf("the capture lacks packets: psn=%+d was acknowledged and is not in it", p.Sub(l.start))
		}
	}
	switch {
	case other != nil && other.blind != l.blind:
		return "one tap began later than the other"
	case l.middle && (other == nil || other.middle):
		return "the capture begins when earlier requests were still to be answered"
	}
	return ""
}
