package recording

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// Limits of what is remembered to find out which flow answers which. Memory and work are linear in the frames and the
// flows.
const (
	candidateLimit = 16 // flows that a flow may answer
	voteLimit      = 8  // answers that settle which flow answers which
)

// candidate is a flow that another one may answer.
type candidate struct {
	flow  *flow
	votes int
	sure  int // answers that may be for no other flow
}

// vote counts one answer for r. With no room left, the candidate with the fewest votes goes.
func (w *flow) vote(r *flow) {
	for i := range w.answers {
		if c := &w.answers[i]; c.flow == r {
			c.votes++
			return
		}
	}
	if len(w.answers) < candidateLimit {
		w.answers = append(w.answers, candidate{r, 1, 0})
		return
	}
	least := &w.answers[0]
	for i := range w.answers {
		if w.answers[i].votes < least.votes {
			least = &w.answers[i]
		}
	}
	if least.votes == 1 {
		*least = candidate{r, 1, 0}
	}
}

// settle decides whether the votes are clear; a settled flow needs no more of them, nor does the one that it answers.
func (w *flow) settle() {
	best, second := candidate{}, 0
	for _, c := range w.answers {
		if c.votes > best.votes {
			best, second = c, best.votes
		} else {
			second = max(second, c.votes)
		}
	}
	if best.votes >= voteLimit && second == 0 || best.votes >= voteLimit*voteLimit && second < best.votes/2 {
		w.settled, best.flow.answered = true, true
	}
}

// answer votes for the flows that sent the request with the PSN of a response: those that have waited longest, if there
// are many. Of their requests, the one that it is most likely for is answered then.
func (l *learner) answer(w *flow, p psn.PSN) {
	if w.settled {
		return
	}
	k := askedKey{w.back, p}
	list := l.asked.with(k)
	var likely *asked
	most := -1
	for i := range list {
		a := list[len(list)-1-i]
		if i < candidateLimit {
			w.vote(a.flow)
		}
		if n := w.votes(a.flow); n > most {
			likely, most = a, n
		}
	}
	if likely != nil {
		likely.taken = true
	}
	if only := l.asked.only(k); only != nil {
		for i := range w.answers {
			if w.answers[i].flow == only {
				w.answers[i].sure++
			}
		}
	}
	w.settle()
}

// votes returns how many answers of w may be for r.
func (w *flow) votes(r *flow) int {
	for _, c := range w.answers {
		if c.flow == r {
			return c.votes
		}
	}
	return 0
}

// pairs counts the flows, those that answer each other as one.
func (l *learner) pairs() (n int) {
	for _, w := range l.order {
		if w.peer == nil || w.index < w.peer.index {
			n++
		}
	}
	return n
}

// surest returns the flow for which most answers of w are that may be for no other; nil when there is none.
func (w *flow) surest() *flow {
	var best candidate
	for _, c := range w.answers {
		if c.sure > best.sure {
			best = c
		}
	}
	return best.flow
}

// pair decides which flow answers which: by most votes, and then, where two hosts have one flow each way left, by that.
func (l *learner) pair() {
	type claim struct {
		w, r  *flow
		votes int
		guess bool // nothing tells it from others
	}
	var claims []claim
	for _, w := range l.order {
		sure := w.surest()
		for _, c := range w.answers {
			claims = append(claims, claim{w, c.flow, c.votes, c.flow != sure})
		}
		w.answers = nil
	}
	slices.SortFunc(claims, func(a, b claim) int {
		return cmp.Or(cmp.Compare(b.votes, a.votes), cmp.Compare(a.w.index, b.w.index),
			cmp.Compare(a.r.index, b.r.index))
	})
	for _, c := range claims {
		switch {
		case c.w.peer == nil && c.r.peer == nil:
			c.w.peer, c.r.peer = c.r, c.w
			c.w.guessed, c.r.guessed = c.guess, c.guess
			c.w.agreed, c.r.agreed = c.votes, c.votes
		case c.w.peer != c.r && 2*c.votes > max(c.w.agreed, c.r.agreed): // many QPs with equal PSNs look alike
			for _, w := range []*flow{c.w, c.w.peer, c.r, c.r.peer} {
				if w != nil {
					w.guessed = true
				}
			}
		}
	}
	l.gather()
	single := map[[2]netip.Addr]*flow{} // the flow from one host to another that is left; nil where there are several
	for _, w := range l.order {
		if w.peer == nil && !w.placed {
			hosts := [2]netip.Addr{w.key.src, w.key.dst}
			_, several := single[hosts]
			if single[hosts] = w; several {
				single[hosts] = nil
			}
		}
	}
	for hosts, w := range single {
		if back := single[[2]netip.Addr{hosts[1], hosts[0]}]; w != nil && back != nil && w != back {
			w.peer, back.peer = back, w
		}
	}
	for _, w := range l.order {
		if _, more := single[[2]netip.Addr{w.key.dst, w.key.src}]; more && w.peer == nil && !w.placed {
			w.guessed = true // its answers may be among those that are left
		}
	}
}
