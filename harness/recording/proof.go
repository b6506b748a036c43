package recording

import (
	"cmp"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/recording/evidence"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// This file decides which flows are peers beyond doubt. QPs between two hosts often start with the same PSN, so that an
// answer may be for a request of any of them: that it has a fitting PSN proves nothing. A pairing is proven when every
// other flow is excluded, because its PSNs are far from those of the answers, or because answers came before its
// requests, again and again.

// Limits of a proof.
const (
	refuted    = 3       // contradictions that exclude a flow: fewer may be due to frames that the capture lacks
	heardLimit = 1 << 14 // answers of a flow that may contradict
	walkLimit  = 1 << 12 // flows with which a flow is compared
	longFlow   = 1 << 12 // PSNs from which on a flow is compared with all flows
)

// psnRange is the PSNs of the requests, or of the answers, of a flow.
type psnRange struct {
	n     int32   // packets
	far   int32   // packets with a PSN that is far from the range, which does not include them
	first psn.PSN // valid when n > 0
	last  psn.PSN // valid when n > 0
}

// add extends the range by a packet that stands for n PSNs.
func (r *psnRange) add(p psn.PSN, n int) {
	last := p.Add(n - 1)
	switch {
	case r.n == 0:
		r.first, r.last = p, last
	case p.Sub(r.last) >= evidence.SkipLimit || r.first.Sub(p) >= evidence.SkipLimit:
		r.far++
		return
	default:
		r.last = psn.Max(r.last, last)
		if p.Less(r.first) {
			r.first = p
		}
	}
	r.n++
}

// wide reports whether the flow has PSNs in several places, as QPNs that are reused have.
func (r *psnRange) wide() bool { return r.far > 1 || r.n > 0 && r.last.Sub(r.first) < 0 }

// asks reports whether requests of the range, and of frames near it that the capture lacks, may have drawn all answers
// of a range.
func (r *psnRange) asks(answers *psnRange) bool {
	switch {
	case answers.n == 0 || answers.wide() || r.wide():
		return true
	case r.n == 0:
		return false
	}
	return answers.first.Sub(r.first) >= -awaiting && answers.last.Sub(r.last) <= awaiting
}

// contradictions counts the answers of a flow that another flow had not asked for.
type contradictions struct {
	early [3]early // by view
	wrong uint16   // data for requests that are not answered by data
	since uint64   // number of the newest request when the last of refuted of them was counted, see learner.asked
}

// early counts the answers to requests that were sent for the first time afterwards.
type early struct {
	n     uint16
	until uint64 // number of the newest answer when the latest of them was counted, see learner.given
}

// contradicted returns the contradictions to the other flow with w, of which two taps show the order each by itself.
// Wrong data tell nothing of a flow that sends no more: its peer may be a QP that was used again.
func (c *contradictions) contradicted(w *flow, two bool) int {
	n := int(c.early[0].n)
	if two {
		n = int(max(c.early[viewOf(trace.A)].n, c.early[viewOf(trace.B)].n))
	}
	if w.asked < c.since {
		return n
	}
	return n + int(c.wrong)
}

// contradicts returns the contradictions of w to r; nil when there is no room for them.
func (w *flow) contradicts(r *flow) *contradictions {
	at := slices.IndexFunc(w.answers, func(c candidate) bool { return c.flow == r })
	if at < 0 {
		if len(w.answers) == candidateLimit {
			return nil
		}
		at = len(w.answers)
		w.answers = append(w.answers, candidate{flow: r})
	}
	return &w.answers[at].contradictions
}

// reply records an answer of w, in a frame. Data are not for the flows that asked for none with this PSN.
func (l *learner) reply(w *flow, k askedKey, data bool, f *capture.Frame) {
	w.replied.add(k.psn, 1)
	if w.replied.n > heardLimit {
		return
	}
	l.given.add(k, w, data)
	if f.HasTap {
		at := k
		at.view = viewOf(f.Tap)
		l.givenAt.add(at, w, data)
	}
	if !data {
		return
	}
	for _, a := range l.asked.each(k) {
		if a.data {
			continue
		}
		if c := w.contradicts(a.flow); c != nil && c.wrong < 1<<15 {
			if c.wrong++; c.wrong <= refuted {
				c.since = l.asked.last
			}
		}
	}
}

// late processes a request of r with PSN p, in a frame. If it is the first with this PSN, earlier answers to p are not
// for r. Those that came before the latest one was counted are no further evidence: one gap of the capture can explain
// all of them, and so can an earlier connection of the same QPN.
func (l *learner) late(r *flow, p psn.PSN, f *capture.Frame) {
	r.awaits(&l.given, askedKey{way: r.way, psn: p}, &r.sent)
	if f.HasTap {
		r.awaits(&l.givenAt, askedKey{way: r.way, psn: p, view: viewOf(f.Tap)}, &r.sentAt[f.Tap&1])
	}
}

// awaits counts the answers to a request of r that were given before; sent is the requests of r in the view of the key.
func (r *flow) awaits(given *requests, k askedKey, sent *psnRange) {
	if sent.n == 0 || !sent.last.Less(k.psn) {
		return
	}
	for n, a := range given.each(k) {
		c := a.flow.contradicts(r)
		if c == nil {
			continue
		}
		if e := &c.early[k.view]; (e.n == 0 || n > e.until) && e.n < 1<<15 {
			e.n, e.until = e.n+1, given.last
		}
	}
}

// against returns the number of contradictions to r being the peer of w.
func (w *flow) against(r *flow, two bool) (n int) {
	for _, x := range [][2]*flow{{w, r}, {r, w}} {
		for i := range x[0].answers {
			if c := &x[0].answers[i]; c.flow == x[1] {
				n += c.contradicted(x[1], two)
			}
		}
	}
	return n
}

// options is the flows that may be the peer of a flow.
type options struct {
	of   *flow
	list []*flow
	open bool // there are too many to be excluded one by one
}

// add adds a flow, if its PSNs fit.
func (o *options) add(r *flow) {
	switch {
	case !r.sent.asks(&o.of.replied) || !o.of.sent.asks(&r.replied):
	case len(o.list) == candidateLimit:
		o.open = true
	default:
		o.list = append(o.list, r)
	}
}

// exclude removes the flows that the answers contradict. It keeps all if they contradict each of them, as answers do
// whose times are wrong.
func (o *options) exclude(two bool) {
	least := -1
	for _, r := range o.list {
		if n := o.of.against(r, two); least < 0 || n < least {
			least = n
		}
	}
	o.list = slices.DeleteFunc(o.list, func(r *flow) bool { return o.of.against(r, two) >= refuted*(least+1) })
}

// voted adds the flows whose requests the flow did answer, as their PSNs tell.
func (o *options) voted() {
	for i := range o.of.answers {
		if c := &o.of.answers[i]; c.votes > 0 && !slices.Contains(o.list, c.flow) {
			o.list = append(o.list, c.flow)
		}
	}
}

// ranges holds the flows between two hosts in one direction, to be searched by PSN.
type ranges struct {
	long  []*flow // flows of many PSNs, or of an unknown range
	short []*flow // the other ones, in the order of their first PSNs
}

// rangesOf returns those of all directions.
func rangesOf(order []*flow) map[int32]*ranges {
	all := map[int32]*ranges{}
	for _, w := range order {
		x := all[w.way]
		if x == nil {
			x = &ranges{}
			all[w.way] = x
		}
		if s := &w.sent; s.n == 0 || s.wide() || s.last.Sub(s.first) >= longFlow {
			x.long = append(x.long, w)
		} else {
			x.short = append(x.short, w)
		}
	}
	for _, x := range all {
		slices.SortFunc(x.short, func(a, b *flow) int { return cmp.Compare(a.sent.first, b.sent.first) })
	}
	return all
}

// options returns the flows of x that may be the peer of w.
func (x *ranges) options(w *flow) (o options) {
	o.of = w
	if len(x.long) > walkLimit || w.replied.wide() && len(x.short) > walkLimit {
		o.open = true
		return o
	}
	for _, r := range x.long {
		o.add(r)
	}
	n := len(x.short)
	after := w.replied.first.Add(awaiting + 1)
	at, _ := slices.BinarySearchFunc(x.short, after, func(r *flow, p psn.PSN) int { return cmp.Compare(r.sent.first, p) })
	for i := range n {
		r := x.short[(at-1-i+2*n)%n]
		if !w.replied.wide() && (i >= walkLimit || o.open || after.Sub(r.sent.first) > longFlow+2*awaiting) {
			o.open = o.open || i >= walkLimit
			break
		}
		o.add(r)
	}
	return o
}

// prove pairs the flows of which every other peer is excluded; two is set for captures of two taps.
func prove(order []*flow, two bool) {
	all, left := rangesOf(order), map[*flow]*options{}
	for _, w := range order {
		if x := all[w.back]; x != nil && w.replied.n > 0 {
			o := x.options(w)
			o.voted()
			o.exclude(two)
			left[w] = &o
		}
	}
	for more := true; more; {
		more = false
		claimed := map[*flow]int{} // number of the flows that have no other peer
		for _, o := range left {
			o.list = slices.DeleteFunc(o.list, func(r *flow) bool { return r.proven && r.peer != o.of })
			if r := o.only(); r != nil {
				claimed[r]++
			}
		}
		for _, w := range order {
			o := left[w]
			if o == nil || w.proven || o.only() == nil {
				continue
			}
			r := o.only()
			if back := left[r]; claimed[r] == 1 && w.fits(r) && (back == nil || back.only() == w) {
				w.peer, r.peer, w.proven, r.proven = r, w, true, true
				more = true
			}
		}
	}
}

// only returns the flow that remains; nil when there are several, or none.
func (o *options) only() *flow {
	if o.open || len(o.list) != 1 {
		return nil
	}
	return o.list[0]
}

// fits reports whether an answer of w is for a request of r that no other flow has sent, or for one of r's while all
// other flows are excluded.
func (w *flow) fits(r *flow) bool {
	return slices.ContainsFunc(w.answers, func(c candidate) bool { return c.flow == r && (c.sure > 0 || c.votes > 1) })
}
