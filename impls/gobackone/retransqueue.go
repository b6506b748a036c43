package gobackone

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// retransQueue holds the packets that RACKs have shown to be missing, in PSN order, in which they are
// found. Neighbours are kept as one range, so that its length follows the RACKs and not the losses.
//
// "If a RACK is received, the sender senses that a packet loss has occurred and passes the unreceived packets to the
// retransQueue." (IV-C3)
type retransQueue struct {
	gaps ring.Ring[gap]

	crtRACK  psn.PSN // newest PSN that a RACK has named, or the newest known in order
	lastRACK psn.PSN // the one before
}

// gap is the packets [from, to).
type gap struct{ from, to psn.PSN }

// restart clears the queue and the PSNs named by RACKs, because all packets from una on are sent again or were never
// sent.
func (q *retransQueue) restart(una psn.PSN) {
	for q.gaps.Len() > 0 {
		q.gaps.Drop()
	}
	q.crtRACK, q.lastRACK = una.Prev(), una.Prev()
}

// rack takes a RACK that names the packet [first, last] of a requester that knows everything before expected to have
// arrived. It is Algorithm 1, lines 29 to 47, in PSNs:
//
//	if lastRACK < snd_una: lastRACK = snd_una
//	if crtRACK < snd_una: crtRACK = snd_una
//	if seq > crtRACK:
//	    lastRACK = crtRACK; crtRACK = seq
//	    push lastRACK + mtu, …, crtRACK - mtu
//
// but for the floor. snd_una is the packet that is missing, so a loop that begins after it never queues the first loss
// of a window, and after a single loss nothing at all. The floor has to be the newest packet that has arrived in order,
// the one before. A RACK that names nothing newer than the last queues nothing, so each gap is sent once.
func (q *retransQueue) rack(expected, first, last psn.PSN) {
	floor := expected.Prev()
	q.lastRACK = psn.Max(q.lastRACK, floor)
	q.crtRACK = psn.Max(q.crtRACK, floor)
	if !q.crtRACK.Less(first) {
		return
	}
	q.lastRACK, q.crtRACK = q.crtRACK, last
	q.push(gap{q.lastRACK.Next(), first})
}

// push appends a range, unless it is empty.
func (q *retransQueue) push(g gap) {
	if g.from.Less(g.to) {
		q.gaps.Push(g)
	}
}

// insist puts the oldest packet, [first, last], before all others, though no RACK asks for it any more.
func (q *retransQueue) insist(first, last psn.PSN) {
	for q.gaps.Len() > 0 && q.gaps.At(0).to.LessEq(first) {
		q.gaps.Drop()
	}
	if q.gaps.Len() == 0 || first.Less(q.gaps.At(0).from) {
		q.gaps.PushFront(gap{first, first.Next()})
	}
	q.crtRACK = psn.Max(q.crtRACK, last)
}

// next returns the PSN of the packet to be sent first, and leaves it in the queue. Entries before una have arrived
// since: "while seqOfPkg < qp.snd_una and not qp.retransQueue.empty()" (Algorithm 2, lines 16 to 19). Those from nxt on
// are about to be sent by go-back-N, after a timeout.
func (q *retransQueue) next(una, nxt psn.PSN) (p psn.PSN, ok bool) {
	for q.gaps.Len() > 0 {
		g := q.gaps.At(0)
		g.from = psn.Max(g.from, una)
		if g.from.Less(g.to) && g.from.Less(nxt) {
			return g.from, true
		}
		q.gaps.Drop()
	}
	return 0, false
}

// len returns how many PSNs next would still give, for a window that stays as it is.
func (q *retransQueue) len(una, nxt psn.PSN) (n int) {
	for i := range q.gaps.Len() {
		from, to := psn.Max(q.gaps.At(i).from, una), q.gaps.At(i).to
		if nxt.Less(to) {
			to = nxt
		}
		n += max(0, to.Sub(from))
	}
	return n
}

// sent takes off everything up to last, which the packet just sent stands for.
func (q *retransQueue) sent(last psn.PSN) { q.gaps.At(0).from = last.Next() }
