package evidence

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// sign is evidence that a packet is missing from a capture, or may have been recorded twice.
type sign struct {
	psn   psn.PSN
	what  string // one of the constants below
	early bool   // it may have passed before the capture began
	had   bool   // it is data that had passed before, and were asked for again
}

// The kinds of evidence, as predicates of the packet in a reason.
const (
	unseen     = "acknowledged and is not in it"
	resent     = "refused and acknowledged, and was not sent again in it"
	unanswered = "asked for, and the answer is not in it"
	unasked    = "answered again, and the repeated request is not in it"
	repeat     = "seen again at once" // no packet is missing
)

// sign adds a sign.
func (l *lack) sign(p psn.PSN, what string) { l.note(sign{psn: p, what: what}) }

// note adds a sign, unless it is known or there are signLimit.
func (l *lack) note(x sign) {
	if len(l.signs) < signLimit && !slices.Contains(l.signs, x) {
		l.signs = append(l.signs, x)
	}
}

// unseen adds the sign of a request that was received and not seen. The request may have passed before the capture
// began if early is true: its sender may have known that it need not send it again, because the request was
// acknowledged before the sender went on, or because only one request, perhaps retransmitted by a timer, was seen
// before it. Nothing passed before the first request of all.
func (l *lack) unseen(p psn.PSN, early bool) {
	l.note(sign{psn: p, what: unseen, early: early && !l.whole})
}

// twice adds a sign for a packet that repeats at once.
func (l *lack) twice(of *repeated, s *Sighting) {
	if of.again(s, &l.duplicates) {
		l.sign(s.PSN, repeat)
	}
}

// missing returns the number of signs of missing packets.
func missing(signs []sign) (n uint64) {
	for _, p := range signs {
		if p.what != repeat {
			n++
		}
	}
	return n
}

// doubtful returns the signs that may be due to the capture. That the other tap does not have a packet either shows
// nothing if it lacks others; that it has one twice, too, shows that it was sent twice.
func (l *lack) doubtful(other, responder *lack) []sign {
	alone := l.alone(other, responder)
	if other == nil || missing(other.alone(l, responder)) == 0 {
		return alone
	}
	return slices.DeleteFunc(slices.Clone(l.signs), func(p sign) bool {
		return p.what == repeat && !slices.Contains(alone, p)
	})
}

// alone returns the signs that are not explained by a packet that was never sent: those that the other tap, if there is
// one, does not have too, and those of packets that may have passed before the captures began, by the tap at the port
// of the responder. Data that the requester need not have asked for again may be lost on the way to it.
func (l *lack) alone(other *lack, responder *lack) []sign {
	if other == nil {
		return l.signs
	}
	return slices.DeleteFunc(slices.Clone(l.signs), func(p sign) bool {
		if p.had && l != responder {
			return true
		}
		same := func(q sign) bool { return q.psn == p.psn && q.what == p.what }
		return slices.ContainsFunc(other.signs, same) && slices.ContainsFunc(responder.signs, func(q sign) bool {
			return same(q) && !q.early
		})
	})
}
