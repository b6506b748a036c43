package recording

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// sign shows that something about a PSN has not passed the tap, or was not captured.
type sign struct {
	psn   psn.PSN
	what  string // happened to it
	early bool   // it may have passed before the capture began
}

// What shows that a capture lacks something.
const (
	unseen     = "acknowledged and is not in it"
	resent     = "refused and acknowledged, and was not sent again in it"
	unanswered = "asked for, and the answer is not in it"
	unasked    = "answered again, and the request for that is not in it"
	repeat     = "seen again at once" // it lacks nothing
)

// sign notes one.
func (l *lack) sign(p psn.PSN, what string) { l.note(sign{psn: p, what: what}) }

// note notes one, once for each PSN.
func (l *lack) note(x sign) {
	if len(l.signs) < signLimit && !slices.Contains(l.signs, x) {
		l.signs = append(l.signs, x)
	}
}

// unseen notes a request that is not seen and was received. It may have passed before the capture began when its
// receiver has shown at no time that it was still to come, and when its sender may have known already that it need not
// send it again: it was acknowledged before the sender went on, or what is seen before it is one request, which a timer
// sends again.
func (l *lack) unseen(p psn.PSN, known bool) {
	l.note(sign{p, unseen, known && !(l.shown && l.first.LessEq(p))})
}

// twice notes a packet that comes again at once.
func (l *lack) twice(of *repeated, s *sighting) {
	if of.again(s, &l.duplicates) {
		l.sign(s.psn, repeat)
	}
}

// missing counts the signs of packets that a capture lacks.
func missing(signs []sign) (n uint64) {
	for _, p := range signs {
		if p.what != repeat {
			n++
		}
	}
	return n
}

// alone returns the signs that nobody has sent what is missing does not explain: those that the other tap, if there is
// one, does not show too, and those of what passed before the captures began, as far as the one at the port of the
// responder tells.
func (l *lack) alone(other *lack, responder *lack) []sign {
	if other == nil {
		return l.signs
	}
	return slices.DeleteFunc(slices.Clone(l.signs), func(p sign) bool {
		same := func(q sign) bool { return q.psn == p.psn && q.what == p.what }
		return slices.ContainsFunc(other.signs, same) && slices.ContainsFunc(responder.signs, func(q sign) bool {
			return same(q) && !q.early
		})
	})
}
