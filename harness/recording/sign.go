package recording

import "github.com/rdma-gauntlet/gauntlet/harness/psn"

// sign shows that something about a PSN has not passed the tap, or was not captured.
type sign struct {
	psn  psn.PSN
	what string // happened to it
}

// What shows that a capture lacks something.
const (
	unseen     = "acknowledged and is not in it"
	resent     = "refused and acknowledged, and was not sent again in it"
	unanswered = "asked for, and the answer is not in it"
	unasked    = "answered again, and the request for that is not in it"
)

// sign notes one.
func (l *lack) sign(p psn.PSN, what string) {
	if len(l.signs) < signLimit {
		l.signs = append(l.signs, sign{p, what})
	}
}
