package recording

import (
	"net/netip"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// host is what passed the tap tells about one end: how long it took to react as the tap saw it, and what was lost
// between the two.
type host struct {
	addr     netip.Addr
	unseen   int     // sequence NAKs for requests of this host that never passed
	seen     int     // sequence NAKs by this host for requests that had passed
	missing  uint64  // requests of this host that were answered and had not passed in their order
	unserved uint64  // of those to this host, answered with what only who has the request can know
	flagged  int     // frames that came from it or went to it, as their direction flags say of the tap
	gaps     int     // packets of this host that passed late or never, after later ones
	silent   samples // from a request that this host did not answer to its retransmission
	answers  samples // from a request to the answer of this host
	react    samples // from a sequence NAK to the retransmission by this host
	idle     pauses
	spacing  samples // from one new request to the next, with no answer between
}

// sampleLimit bounds what is kept of a kind of time.
const sampleLimit = 1 << 12

// samples are times of one kind, the first of them.
type samples []vtime.Duration

func (s *samples) add(d vtime.Duration) {
	if len(*s) < sampleLimit {
		*s = append(*s, d)
	}
}

// median returns the middle one; 0 when there are none.
func (s samples) median() vtime.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[len(sorted)/2]
}

// usual returns the middle of the shortest interval in which most of the samples lie; 0 when there are none. It holds
// where fewer than half of them are of something else, though all on one side.
func (s samples) usual() vtime.Duration {
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

// pause is a time without requests in which an answer passed, the last of a message.
type pause struct {
	wait vtime.Duration // from the first answer to the next request
	all  vtime.Duration
}

type pauses []pause

func (p *pauses) add(wait, all vtime.Duration) {
	if len(*p) < sampleLimit {
		*p = append(*p, pause{wait, all})
	}
}

// typical returns the pause that lies in the middle of all the time that they take: few long ones weigh more than many
// short ones.
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

// lost counts the signs that something was lost between the host and the tap, so that the tap is not at its port. A
// request is unanswered when that takes much longer than answers do: the answer may have been on its way.
func (h *host) lost() int {
	n := h.unseen + h.seen + h.gaps
	late := 4 * h.answers.median()
	for _, d := range h.silent {
		if d > late {
			n++
		}
	}
	return n
}

// reaction is how long a host took, as the tap saw it.
type reaction struct {
	time   vtime.Duration
	what   string
	in     vtime.Duration // the pause that it is a part of, where chance may have a part in it; else zero
	steady bool           // that pause is no longer than other times between requests
}

// fewest is how many pauses are worth a conclusion.
const fewest = 3

// reactions returns how long h took, by kind, the best evidence first: an answer to a request and a retransmission upon
// a NAK have a cause, and a request after a pause may have one. Where there is enough of a kind, the next ones are not
// asked, and pauses are not where there is any of the others: a sender that does not wait begins by chance.
func (h *host) reactions() (list []reaction) {
	if len(h.answers) > 0 {
		list = append(list, reaction{time: h.answers.median(), what: "answers"})
	}
	if len(h.react) > 0 && len(h.answers) < fewest {
		list = append(list, reaction{time: h.react.median(), what: "retransmissions"})
	}
	if len(h.idle) >= fewest && len(h.answers)+len(h.react) == 0 {
		t := h.idle.typical()
		list = append(list, reaction{t.wait, "new data", t.all, t.all < 4*h.spacing.median() || len(h.spacing) == 0})
	}
	return list
}

// much is how many times faster the near end has to be than the far one to be told from a tap between them; some, where
// losses say the same.
const (
	much = 8
	some = 3
)

// Times that a host may take that is near: prompt is as long as rules allow a host to take, because a tap that makes
// one break them is not at its port; quick holds when of the far one there are pauses only, which may be as long as it
// likes.
const (
	prompt = 10 * vtime.Millisecond
	quick  = vtime.Millisecond
)

// faster reports whether r is so much shorter than far that the tap is near. What may be chance has to be a small part
// of its pause near, and nearly all of it far; and a near pause lasts about as long as the far end takes, or else that
// was not what the host waited for.
func (r reaction) faster(far reaction, factor vtime.Duration) bool {
	part := vtime.Duration(much)
	if r.steady {
		part *= 2 // all requests come at such times, whatever is answered
	}
	switch {
	case r.time > prompt:
		return false
	case r.in > 0 && (r.time*part > r.in || r.in*2 < far.time):
		return false
	case far.in > 0 && (r.time > quick || (far.in-far.time)*much > far.in):
		return false
	}
	return r.time*factor <= far.time
}
