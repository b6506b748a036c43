package recording

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
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
	sure  int // answers that can be for no other flow, by the requests that were seen
	contradictions
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
	if least.votes <= 1 {
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
func (l *learner) answer(w *flow, p psn.PSN, data bool, f *capture.Frame) {
	k := askedKey{way: w.back, psn: p}
	l.reply(w, k, data, f)
	if w.settled {
		return
	}
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

// claim is the votes of a flow for a peer whose requests it may answer.
type claim struct {
	w, r  *flow
	votes int
}

// claims returns the claims of the flows without a proven peer, the largest first.
func claims(order []*flow) (list []claim) {
	for _, w := range order {
		for _, c := range w.answers {
			if c.votes > 0 && !w.proven && !c.flow.proven {
				list = append(list, claim{w, c.flow, c.votes})
			}
		}
		w.answers = nil
	}
	slices.SortFunc(list, func(a, b claim) int {
		return cmp.Or(cmp.Compare(b.votes, a.votes), cmp.Compare(a.w.index, b.w.index),
			cmp.Compare(a.r.index, b.r.index))
	})
	return list
}

// lonely reports whether a flow is of datagrams, so that no flow answers it.
func (w *flow) lonely() bool { return w.datagrams > 0 && w.datagrams == w.frames }

// pair matches each flow with its peer: first by proof, then by votes, then, where two hosts have exactly one unmatched
// flow each way, by that.
func (l *learner) pair() {
	prove(l.order, l.survey.two())
	for _, c := range claims(l.order) {
		switch {
		case c.w.peer == nil && c.r.peer == nil:
			c.w.peer, c.r.peer = c.r, c.w
			c.w.guessed, c.r.guessed = true, true
			c.w.agreed, c.r.agreed = c.votes, c.votes
		case c.w.peer != c.r && 2*c.votes > max(c.w.agreed, c.r.agreed): // QPs with equal PSNs
			for _, w := range []*flow{c.w, c.w.peer, c.r, c.r.peer} {
				if w != nil {
					w.guessed = !w.proven
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
		if w.peer == nil && !w.placed && !w.lonely() {
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
	anew := map[int32]bool{} // directions with a flow of which a part may be the peer of another flow
	for _, w := range l.order {
		anew[w.way] = anew[w.way] || w.threads.Renewed()
	}
	for _, w := range l.order {
		_, more := single[[2]netip.Addr{w.key.dst, w.key.src}]
		if (more || anew[w.back]) && w.peer == nil && !w.placed && !w.lonely() {
			w.guessed = true // one of the unmatched flows may answer it
		}
	}
}
