package drive

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/harness/workload"
)

// load is one QP's share of a workload. A closed loop works as perftest does: it keeps as many requests outstanding as
// the queue is deep, and posts one for each that is known to be finished. With CQ moderation m only every m-th
// completion is signalled, so the loop learns of m completions at a time. Messages with arrival times wait for room in
// the queue.
type load struct {
	scenario.Load
	flows  workload.Flows
	due    vtime.Time // arrival of the next message, where messages have arrival times
	first  uint64     // ID of the first request; the others follow
	posted int
	done   int // requests completed; known <= done <= posted
	known  int // requests completed, as far as completions were signalled

	refused bool // the engine has refused such a request for good
}

// perLoad is the number of request IDs of a load; a scripted request has an ID below it (see package scenario).
const perLoad = 1e9

// newLoads returns the shares of connection i in the loads of one side. If there are scripted requests, they have the
// first perLoad IDs.
func newLoads(s *scenario.Spec, side trace.Side, i int) []load {
	var loads []load
	first := uint64(0)
	for _, p := range s.Posts {
		if p.From == side {
			first = perLoad
		}
	}
	for k, l := range s.Loads {
		if l.From == side {
			flows := s.Flows(k, i)
			loads = append(loads, load{Load: l, flows: flows, due: vtime.Time(flows.Gap(0)), first: first})
			first += perLoad
		}
	}
	return loads
}

// holds reports whether the load posted the request with this ID.
func (l *load) holds(id uint64) bool { return id >= l.first && id-l.first < uint64(l.posted) }

// waited returns the time for which the next message has waited for room in the queue.
func (l *load) waited(now vtime.Time) vtime.Duration {
	if !l.flows.Open() {
		return 0
	}
	return now.Sub(l.due)
}

// over reports whether the load has posted all its messages.
func (l *load) over() bool { return l.Count > 0 && l.posted >= l.Count || l.posted == perLoad }

// poster posts the work of one side's application: the loads of all QPs, and receives.
type poster struct {
	qps      []qp
	layout   *layout
	out      *reports
	until    vtime.Time // end of posting; vtime.Never when the work is counted
	replaces bool       // a receive that completes is replaced by another
	pending  int        // signalled work requests that have not completed
	awaiting int        // QPs with messages still to arrive
}

// endOf returns the time at which the work of a Spec ends; vtime.Never when the work is counted.
func endOf(s *scenario.Spec) vtime.Time {
	if s.For > 0 {
		return vtime.Time(s.For)
	}
	return vtime.Never
}

// arrival returns the time of the next message for which the queue has room. A completion makes room.
func (w *poster) arrival(q *qp) vtime.Time {
	at := vtime.Never
	for k := range q.loads {
		if l := &q.loads[k]; l.flows.Open() && !l.over() && l.posted-l.known < q.attr.QueueDepth {
			at = min(at, l.due)
		}
	}
	if at >= w.until {
		return vtime.Never
	}
	return at
}

// await records the arrival time of a QP's next message.
func (w *poster) await(q *qp, at vtime.Time) {
	if q.arrives != vtime.Never {
		w.awaiting--
	}
	if at != vtime.Never {
		w.awaiting++
	}
	q.arrives = at
}

// pump fills the queue of connection i.
func (w *poster) pump(i int) {
	q := &w.qps[i]
	if q.failed {
		return
	}
	for k := range q.loads {
		l := &q.loads[k]
		for l.posted-l.known < q.attr.QueueDepth && w.more(q, l) {
			if err := w.post(i, w.layout.request(i, l), l.waited(w.out.now)); err != nil {
				w.await(q, vtime.Never) // the next completion tries again
				w.refused(i, l, err)
				return
			}
			l.posted++
			l.due = l.due.Add(l.flows.Gap(l.posted))
		}
	}
	w.await(q, w.arrival(q))
}

// more reports whether the load of a QP has another message to post now.
func (w *poster) more(q *qp, l *load) bool {
	if l.over() || l.Ahead > 0 && l.posted >= q.heard+l.Ahead || l.flows.Open() && l.due > w.out.now {
		return false
	}
	return w.out.now < w.until
}

// refused counts, once per load, that the engine does not support its operation or length. Otherwise work that a
// transport cannot do would look like work that was forgotten.
func (w *poster) refused(i int, l *load, err error) {
	if !l.refused && !errors.Is(err, engine.ErrQueueFull) && !errors.Is(err, engine.ErrQPState) {
		l.refused = true
		w.out.count(i, causeNames[refusedPost], 1)
	}
}

// post posts one work request. A full queue is an error like others; the next completion tries again.
func (w *poster) post(i int, wr engine.WorkRequest, waited vtime.Duration) error {
	q := &w.qps[i]
	if err := q.req.Post(w.out.now, wr); err != nil {
		return err
	}
	q.want[requester] = true
	if !wr.Unsignal {
		w.pending++
	}
	w.out.post(i, &wr, waited)
	return nil
}

// completed processes the completion of a request of a load, and posts the requests for which it made room. It reports
// whether the request was of a load.
func (w *poster) completed(i int, ev *engine.Event) bool {
	q := &w.qps[i]
	for k := range q.loads {
		if l := &q.loads[k]; l.holds(ev.ID) {
			w.pending--
			if ev.Status == engine.StatusSuccess {
				l.done++
			}
			if every := max(1, q.attr.CQModeration); l.done%every == 0 || l.done == l.posted {
				l.known = l.done
			}
			w.pump(i)
			return true
		}
	}
	return false
}

// counted returns how many messages of counted loads are done, and how many there are.
func (w *poster) counted() (done, total int) {
	for i := range w.qps {
		for _, l := range w.qps[i].loads {
			done += l.done
			total += l.Count
		}
	}
	return done, total
}

// shortfall names a QP that will not do all of its counted work; "" when there is none.
func (w *poster) shortfall() string {
	for i := range w.qps {
		undone, total := 0, 0
		for _, l := range w.qps[i].loads {
			undone, total = undone+max(0, l.Count-l.done), total+l.Count
		}
		if undone > 0 {
			return fmt.Sprintf("QP %d of %s failed with %d of its %d messages undone", i, w.out.side, undone, total)
		}
	}
	return ""
}

// offer posts a receive to connection i's responder and reports whether it was accepted.
func (w *poster) offer(i int, rr engine.ReceiveRequest) bool {
	if w.qps[i].resp.PostReceive(w.out.now, rr) != nil {
		return false
	}
	w.out.receive(i, &rr)
	return true
}

// receive posts connection i's next receive.
func (w *poster) receive(i int) {
	q := &w.qps[i]
	if w.offer(i, w.layout.receive(i, q.recvs)) {
		q.recvs++
		q.want[responder] = true
	}
}

// hear counts a message of the peer that completed a receive, and posts the answers that waited for it.
func (w *poster) hear(i int, ev *engine.Event) {
	if ev.Status != engine.StatusSuccess {
		return
	}
	q := &w.qps[i]
	q.heard++
	if slices.ContainsFunc(q.loads, func(l load) bool { return l.Ahead > 0 }) {
		w.pump(i)
	}
}

// replenish posts a receive in place of one that completed. Where connections share receives the event has the address
// of the buffer: this one is free again, its neighbours may not be.
func (w *poster) replenish(i int, ev *engine.Event) {
	q := &w.qps[i]
	switch {
	case !w.replaces || q.failed:
	case ev.VA == 0:
		w.receive(i)
	case w.offer(i, engine.ReceiveRequest{ID: uint64(q.recvs), VA: ev.VA, Len: uint32(w.layout.inSlot)}):
		q.recvs++
	}
}

// receives returns the number of receives that each QP of a side gets at the start: the number in the Spec, unless that
// is more than manyReceives in total, which with thousands of QPs would be most of the memory of a run; then only the
// receives that can be taken. A peer that posts no SEND takes none, and one that does has no more outstanding than its
// queue is deep, and each receive is replaced when it is taken.
func receives(s *scenario.Spec, side trace.Side) int {
	peer := side.Other()
	if s.Receives*s.QPs <= manyReceives || !s.Replenish || len(s.Injections)+len(s.Faults) > 0 {
		return s.Receives // an injected or changed packet may take receives that the peer's own packets do not
	}
	if !takesReceives(s, peer) {
		return 0
	}
	return min(s.Receives, s.QP[peer].QueueDepth)
}

// manyReceives is the number of receives of all QPs that need not be saved: they take some MB.
const manyReceives = 1 << 16
