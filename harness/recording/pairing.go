package recording

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// Limits of the state for matching flows with the flows that answer them. Memory and work are linear in the frames and
// the flows.
const (
	candidateLimit = 16  // candidates per flow
	voteLimit      = 8   // votes that settle the peer of a flow
	awaiting       = 512 // requests of a flow that may await their answers when a capture begins
)

// candidate is a flow whose requests another flow may answer.
type candidate struct {
	flow  *flow
	votes int
	sure  int     // answers that can be for no other flow, by the requests that were seen
	last  psn.PSN // the newest of these
}

// vote counts one answer for r. When there is no room, r replaces the candidate with the fewest votes if that has one
// vote.
func (w *flow) vote(r *flow) {
	for i := range w.answers {
		if c := &w.answers[i]; c.flow == r {
			c.votes++
			return
		}
	}
	if len(w.answers) < candidateLimit {
		w.answers = append(w.answers, candidate{flow: r, votes: 1})
		return
	}
	least := &w.answers[0]
	for i := range w.answers {
		if w.answers[i].votes < least.votes {
			least = &w.answers[i]
		}
	}
	if least.votes == 1 {
		*least = candidate{flow: r, votes: 1}
	}
}

// settle decides whether the votes are clear. A settled flow, and the flow that it answers, need no more votes.
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

// answer votes for the flows that have sent a request with the PSN of a response; if there are many, for those that
// have waited longest. data is set for a response with data. It marks the request of the likeliest flow as answered.
func (l *learner) answer(w *flow, p psn.PSN, data bool) {
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
	if only := l.asked.only(k, data); only != nil {
		for i := range w.answers {
			if c := &w.answers[i]; c.flow == only {
				if c.sure == 0 || c.last.Less(p) {
					c.last = p
				}
				c.sure++
			}
		}
	}
	w.settle()
}

// votes returns the number of answers of w that may be for r.
func (w *flow) votes(r *flow) int {
	for _, c := range w.answers {
		if c.flow == r {
			return c.votes
		}
	}
	return 0
}

// pairs returns the number of flows, counting two that answer each other as one.
func (l *learner) pairs() (n int) {
	for _, w := range l.order {
		if w.peer == nil || w.index < w.peer.index {
			n++
		}
	}
	return n
}

// surest returns the candidate of w with the most sure answers; nil when none has any, or when these may be for another
// flow whose request preceded the capture.
func (w *flow) surest(began beginnings) *flow {
	var best candidate
	for _, c := range w.answers {
		if c.sure > best.sure {
			best = c
		}
	}
	if best.flow == nil || began.after(best.flow, best.last) {
		return nil
	}
	return best.flow
}

// beginnings holds, by way, the flows with requests in the order of their first PSNs.
type beginnings map[int32][]*flow

// beginnings returns those of all flows.
func (l *learner) beginnings() beginnings {
	b := beginnings{}
	for _, w := range l.order {
		if w.requests > 0 {
			b[w.way] = append(b[w.way], w)
		}
	}
	for _, list := range b {
		slices.SortFunc(list, func(x, y *flow) int { return cmp.Compare(x.first, y.first) })
	}
	return b
}

// after reports whether a flow of the same way as r begins shortly after p, so that p may be one of its requests.
func (b beginnings) after(r *flow, p psn.PSN) bool {
	list := b[r.way]
	at, _ := slices.BinarySearchFunc(list, p.Next(), func(w *flow, p psn.PSN) int { return cmp.Compare(w.first, p) })
	for i := range min(2, len(list)) { // the next one, or the one behind it if that is r
		w := list[(at+i)%len(list)]
		if d := w.first.Sub(p); w != r && d > 0 && d < awaiting {
			return true
		}
	}
	return false
}

// pair matches each flow with its peer: first by votes, then, where two hosts have exactly one unmatched flow each way,
// by that.
func (l *learner) pair() {
	type claim struct {
		w, r  *flow
		votes int
		guess bool // the votes do not exclude other candidates
	}
	var claims []claim
	began := l.beginnings()
	for _, w := range l.order {
		sure := w.surest(began)
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
		case c.w.peer != c.r && 2*c.votes > max(c.w.agreed, c.r.agreed): // QPs with equal PSNs cannot be distinguished
			for _, w := range []*flow{c.w, c.w.peer, c.r, c.r.peer} {
				if w != nil {
					w.guessed = true
				}
			}
		}
	}
	l.gather()
	single := map[[2]netip.Addr]*flow{} // the unmatched flow from one host to another; nil for several
	unsure := map[[2]netip.Addr]bool{}  // hosts of which a pair of flows is a guess, so that what is left is one too
	for _, w := range l.order {
		if w.guessed {
			unsure[[2]netip.Addr{w.key.src, w.key.dst}] = true
		}
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
			w.guessed = w.guessed || unsure[hosts]
			back.guessed = w.guessed
		}
	}
	for _, w := range l.order {
		if _, more := single[[2]netip.Addr{w.key.dst, w.key.src}]; more && w.peer == nil && !w.placed {
			w.guessed = true // one of the unmatched flows may answer it
		}
	}
}
