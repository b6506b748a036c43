package drive

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/harness/workload"
)

// load is one QP's share of a workload. A closed loop is perftest's: as many requests outstanding as the queue is deep,
// a new one for each that is known to be finished. With CQ moderation m only every m-th completion is signalled, so the
// loop learns of m at a time. Messages that arrive by the clock wait for room in the queue.
type load struct {
	scenario.Load
	flows  workload.Flows
	due    vtime.Time // arrival of the next message, where messages arrive by the clock
	first  uint64     // request IDs count from here
	posted int
	done   int // completed
	known  int // completed, as far as the application has been told
}

// perLoad is how many request IDs a load has; a scripted request has an ID below it (see package scenario).
const perLoad = 1e9

// newLoads returns the shares of connection i in the loads of one side. Their IDs leave the first perLoad to scripted requests, if there are any.
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

// arrival is when the next message comes by the clock for which the queue has room. A completion makes room.
func (e *Endpoint) arrival(q *qp) vtime.Time {
	at := vtime.Never
	for k := range q.loads {
		if l := &q.loads[k]; l.flows.Open() && !l.over() && l.posted-l.known < q.attr.QueueDepth {
			at = min(at, l.due)
		}
	}
	if e.spec.For > 0 && at >= vtime.Time(e.spec.For) {
		return vtime.Never
	}
	return at
}

// await notes when the next message arrives.
func (e *Endpoint) await(q *qp, at vtime.Time) {
	if q.arrives != vtime.Never {
		e.awaiting--
	}
	if at != vtime.Never {
		e.awaiting++
	}
	q.arrives = at
}

// holds reports whether the load posted the request of this ID.
func (l *load) holds(id uint64) bool { return id >= l.first && id-l.first < uint64(l.posted) }

// pump keeps the queue of connection i full.
func (e *Endpoint) pump(i int) {
	q := &e.qps[i]
	if q.failed {
		return
	}
	for k := range q.loads {
		l := &q.loads[k]
		for l.posted-l.known < q.attr.QueueDepth && e.more(l) {
			if !e.post(i, e.layout.request(i, l), l.waited(e.now)) {
				e.await(q, vtime.Never) // the next completion tries again
				return
			}
			l.posted++
			l.due = l.due.Add(l.flows.Gap(l.posted))
		}
	}
	e.await(q, e.arrival(q))
}

// waited is for how long the next message has been waiting for room in the queue.
func (l *load) waited(now vtime.Time) vtime.Duration {
	if !l.flows.Open() {
		return 0
	}
	return now.Sub(l.due)
}

// over reports whether the load has posted all it is to post.
func (l *load) over() bool { return l.Count > 0 && l.posted >= l.Count || l.posted == perLoad }

// more reports whether the load has another message to post now.
func (e *Endpoint) more(l *load) bool {
	if l.over() || l.flows.Open() && l.due > e.now {
		return false
	}
	return e.spec.For == 0 || e.now < vtime.Time(e.spec.For)
}

// post hands one work request to the engine; a full queue is not an error here, the next completion tries again.
func (e *Endpoint) post(i int, wr engine.WorkRequest, waited vtime.Duration) bool {
	q := &e.qps[i]
	if err := q.req.Post(e.now, wr); err != nil {
		return false
	}
	q.want[requester] = true
	if !wr.Unsignal {
		e.pending++
	}
	e.reportPost(i, trace.Post, wr, waited)
	return true
}

// receives is how many buffers a QP of a side is given at the start: as many as the Spec says, unless that is more than manyReceives
// together, which with thousands of QPs is most of the memory of a run; then those that can be taken. A peer that posts no
// SEND takes none, and one that does has no more outstanding than its queue is deep, each of which is replaced when it is
// taken.
func receives(s *scenario.Spec, side trace.Side) int {
	peer := side.Other()
	if s.Receives*s.QPs <= manyReceives || !s.Replenish || len(s.Injections)+len(s.Faults) > 0 {
		return s.Receives // a crafted or changed packet may take what the peer's own do not
	}
	takes := slices.ContainsFunc(s.Loads, func(l scenario.Load) bool { return l.From == peer && takesReceive(l.Op) }) ||
		slices.ContainsFunc(s.Posts, func(p scenario.Post) bool { return p.From == peer && !p.Receive && takesReceive(p.WR.Op) })
	if !takes {
		return 0
	}
	return min(s.Receives, s.QP[peer].QueueDepth)
}

// manyReceives is how many buffers of all QPs cost nothing worth saving: some MB.
const manyReceives = 1 << 16

// postReceive gives connection i's responder its next receive buffer.
func (e *Endpoint) postReceive(i int) {
	q := &e.qps[i]
	rr := e.layout.receive(i, q.recvs)
	if q.resp.PostReceive(e.now, rr) != nil {
		return
	}
	q.recvs++
	q.want[responder] = true
	e.reportPost(i, trace.Receive, engine.WorkRequest{ID: rr.ID, Len: rr.Len, RemoteVA: rr.VA}, 0)
}

// replenish posts a receive in place of one that completed. Where connections share receives the event says which buffer it
// was: that one is free again, and its neighbours may not be.
func (e *Endpoint) replenish(i int, ev *engine.Event) {
	if ev.VA == 0 {
		e.postReceive(i)
		return
	}
	q := &e.qps[i]
	rr := engine.ReceiveRequest{ID: uint64(q.recvs), VA: ev.VA, Len: uint32(e.layout.inSlot)}
	if q.resp.PostReceive(e.now, rr) == nil {
		q.recvs++
		e.reportPost(i, trace.Receive, engine.WorkRequest{ID: rr.ID, Len: rr.Len, RemoteVA: rr.VA}, 0)
	}
}

// completed accounts for one completion and posts what it made room for.
func (e *Endpoint) completed(i int, ev *engine.Event) {
	q := &e.qps[i]
	if e.turns.Taken() {
		e.pending--
		e.turns.turned(ev)
		return
	}
	for k := range q.loads {
		if l := &q.loads[k]; l.holds(ev.ID) {
			e.pending--
			if ev.Status == engine.StatusSuccess {
				l.done++
			}
			if every := max(1, q.attr.CQModeration); l.done%every == 0 || l.done == l.posted {
				l.known = l.done
			}
			e.pump(i)
			return
		}
	}
	if e.script.completed(i, ev) {
		e.pending--
	}
	e.pump(i)
}
