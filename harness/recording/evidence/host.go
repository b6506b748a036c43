package evidence

import (
	"math"
	"net/netip"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// host holds the evidence of the packets at the tap about one end: its reaction times as seen at the tap, and signs of
// losses between the end and the tap.
type host struct {
	addr     netip.Addr
	unseen   int     // sequence NAKs for requests of this host that never passed
	seen     int     // sequence NAKs by this host for requests that had passed
	missing  uint64  // requests of this host that were answered although they had not passed in order
	unserved uint64  // requests to this host that had not passed in order and were answered with data
	drew     int     // gaps in requests to this host of which a NAK passed before the missing request
	mute     int     // gaps of which none did
	flagged  int     // frames whose direction flag places the tap at this host
	swaps    int     // requests to this host that passed out of order and that it took
	keeps    bool    // the host acknowledges selectively, so that it may take requests out of order
	crossed  int     // packets of this host that passed in another order than that in which it has to send them
	overtook Samples // of acknowledgements of this host that passed before earlier ones, and only once: how long before
	gaps     int     // packets of this host that passed after later ones, or never
	deaf     int     // retransmissions by this host long after the answers to them had passed
	silent   Samples // times from a request that this host did not answer to its retransmission
	answers  Samples // times from a request to the answer of this host
	react    []retreat
	idle     pauses
	spacing  Samples // times between new requests of this host without an answer between them
}

// SampleLimit bounds the samples kept of one kind.
const SampleLimit = 1 << 12

// Samples are the first times of one kind.
type Samples []vtime.Duration

// Add adds a time, while there is room.
func (s *Samples) Add(d vtime.Duration) {
	if len(*s) < SampleLimit {
		*s = append(*s, d)
	}
}

// median returns the median; 0 when there are no samples.
func (s Samples) median() vtime.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[len(sorted)/2]
}

// Usual returns the middle of the shortest interval that contains more than half of the samples; 0 when there are none.
// Unlike the median it is not moved by outliers on one side, as long as they are fewer than half.
func (s Samples) Usual() vtime.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	half := len(sorted)/2 + 1
	best := 0
	for i := range len(sorted) - half + 1 {
		if sorted[i+half-1]-sorted[i] < sorted[best+half-1]-sorted[best] {
			best = i
		}
	}
	return sorted[best+half/2]
}

// retreat is the time from a sequence NAK to the retransmission by a host, the longest time in it without a request of
// the connection, and the time before it since the first NAK of the same request: any of these NAKs may have caused the
// retransmission.
type retreat struct{ time, pause, before vtime.Duration }

// handed is the most packets that a host may have handed to its port before it heard of a NAK, as the rules allow; a
// retransmission waits behind them while the port is busy.
const handed = 64

// retreats returns the usual time of a retreat at most, and the least time of one that the host's port does not account
// for: the path is no longer than that, while others may have taken more than one NAK or retransmission. A few packets
// may be lost between two that are seen.
func (h *host) retreats() (usual, least vtime.Duration) {
	const lost = 4
	var whole Samples
	each := h.spacing.median()
	least = math.MaxInt64
	for _, r := range h.react {
		whole.Add(r.before + r.time)
		if r.pause <= lost*each {
			r.time = max(0, r.time-handed*each)
		}
		least = min(least, r.time)
	}
	return whole.median(), least
}

// pause is a time between two requests in which the last answer of a message passed.
type pause struct {
	wait vtime.Duration // from the first answer to the next request
	all  vtime.Duration
}

type pauses []pause

func (p *pauses) add(wait, all vtime.Duration) {
	if len(*p) < SampleLimit {
		*p = append(*p, pause{wait, all})
	}
}

// typical returns a pause that is typical weighted by length, so that few long pauses count more than many short ones:
// of the longest pauses, which make up half of the total time, the one with the median wait.
func (p pauses) typical() (middle pause) {
	sorted := slices.SortedFunc(slices.Values(p), func(a, b pause) int { return int(max(-1, min(1, a.all-b.all))) })
	var total, sum vtime.Duration
	for _, x := range sorted {
		total += x.all
	}
	from := 0
	for from < len(sorted) && sum < total/2 {
		sum += sorted[from].all
		from++
	}
	longer := sorted[max(0, from-1):]
	slices.SortFunc(longer, func(a, b pause) int { return int(max(-1, min(1, a.wait-b.wait))) })
	if len(longer) > 0 {
		middle = longer[len(longer)/2]
	}
	return middle
}

// lost counts the signs of losses and of reordering between the host and the tap, which show that the tap is not at its
// port. A retransmitted request counts as unanswered only if it was sent much later than answers take, since the answer
// may have been on its way otherwise.
func (h *host) lost() int {
	n := h.unseen + h.seen + h.gaps + h.deaf
	if !h.keeps {
		n += h.swaps
	}
	late := 4 * h.answers.median()
	for _, d := range h.silent {
		if d > late {
			n++
		}
	}
	return n
}

// signs counts what speaks against a place at the port of the host, whoever states it.
func (h *host) signs() int { return h.seen + h.unseen + h.gaps + h.crossed + h.deaf }

// reordered reports whether acknowledgements of the host were overtaken on their way to the tap. A path brings none
// earlier than by its own length, which is less than answers take.
func (h *host) reordered() bool {
	most := max(swapTime, h.answers.median())
	return slices.ContainsFunc(h.overtook, func(early vtime.Duration) bool { return early <= most })
}

// reaction is a reaction time of a host as seen at the tap.
type reaction struct {
	time   vtime.Duration
	least  vtime.Duration // without the time for which it may have waited in the host's port
	what   string
	in     vtime.Duration // the pause that contains it, if the reaction may be a coincidence; otherwise zero
	steady bool           // the pause is no longer than other times between requests
}

// tick is the resolution of most captures: a request in the same tick as the answer before it need not follow from it.
const tick = vtime.Microsecond

// Fewest is the least number of pauses, of answers, or of retransmissions without a reason for a conclusion from them.
const Fewest = 3

// reactions returns the reaction times of h by kind, the best evidence first: an answer is caused by a request and a
// retransmission by a NAK; a request after a pause may be caused by the answer before it. Retransmissions are used only
// with few answers, and pauses only without answers and retransmissions, because a sender that does not wait for
// answers starts at random.
func (h *host) reactions() (list []reaction) {
	if len(h.answers) > 0 {
		t := h.answers.median()
		list = append(list, reaction{time: t, least: t, what: "answers"})
	}
	if len(h.react) > 0 && len(h.answers) < Fewest {
		usual, least := h.retreats()
		list = append(list, reaction{time: usual, least: least, what: "retransmissions"})
	}
	if t := h.idle.typical(); len(h.idle) >= Fewest && len(h.answers)+len(h.react) == 0 && !h.brisk(t.wait) {
		wait := max(t.wait, tick)
		list = append(list, reaction{wait, wait, "new data", t.all, t.all < 4*h.spacing.median() || len(h.spacing) == 0})
	}
	return list
}

// brisk reports whether most new requests of the host follow an answer in a small part of a time: then it does not need
// that time to react, and pauses for a reason of its own.
func (h *host) brisk(than vtime.Duration) bool {
	n := 0
	for _, p := range h.idle {
		if p.wait*much < than {
			n++
		}
	}
	return 2*n > len(h.idle)+len(h.spacing)
}

// much is the factor by which the near end must be faster than the far end to exclude a tap between them; some is the
// factor when losses support the same conclusion and none contradicts it.
const (
	much = 8
	some = 3
)

// Upper bounds of the reaction time of a near host. prompt is the time that rules allow a host, because a tap at which
// a host breaks them is not at its port. quick is the bound when the far end has pauses only, whose length is
// arbitrary. A host that answers within instant is at most a hundred metres away, however busy the far end is.
const (
	prompt  = 10 * vtime.Millisecond
	quick   = vtime.Millisecond
	instant = vtime.Microsecond
)

// faster reports whether r is shorter than far by enough to place the tap at the host of r. A wait that may be a
// coincidence must be a small part of its pause at the near end, and nearly all of it at the far end. A near pause must
// also last about as long as the far end takes; otherwise the host did not wait for the far end.
func (r reaction) faster(far reaction, factor vtime.Duration) bool {
	part := vtime.Duration(much)
	if r.steady {
		part *= 2 // all requests are so spaced, whether answers pass or not
	}
	switch {
	case r.time > prompt:
		return false
	case r.in > 0 && (r.time*part > r.in || r.in*2 < far.time):
		return false
	case far.in > 0 && (r.time > quick || (far.in-far.time)*much > far.in):
		return false
	}
	path := far.least
	if r.in == 0 && r.time <= instant {
		path = far.time
	}
	return r.time*factor <= path
}
