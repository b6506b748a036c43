package drive

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// load is one QP's share of a closed-loop workload, perftest's loop: as many requests outstanding as the queue is deep,
// a new one for each that is known to be finished. With CQ moderation m only every m-th completion is signalled, so the
// loop learns of m at a time.
type load struct {
	scenario.Load
	first  uint64 // request IDs count from here
	posted int
	done   int // completed
	known  int // completed, as far as the application has been told
}

// perLoad is how many request IDs a load has; a scripted request has an ID below it (see package scenario).
const perLoad = 1e9

// newLoads returns the loads of one side. Their IDs leave the first perLoad to scripted requests, if there are any.
func newLoads(s *scenario.Spec, side trace.Side) []load {
	var loads []load
	first := uint64(0)
	for _, p := range s.Posts {
		if p.From == side {
			first = perLoad
		}
	}
	for _, l := range s.Loads {
		if l.From == side {
			loads = append(loads, load{Load: l, first: first})
			first += perLoad
		}
	}
	return loads
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
			if !e.post(i, e.layout.request(i, l)) {
				return
			}
			l.posted++
		}
	}
}

// more reports whether the load has another message to post now.
func (e *Endpoint) more(l *load) bool {
	if l.Count > 0 && l.posted >= l.Count || l.posted == perLoad {
		return false
	}
	return e.spec.For == 0 || e.now < vtime.Time(e.spec.For)
}

// post hands one work request to the engine; a full queue is not an error here, the next completion tries again.
func (e *Endpoint) post(i int, wr engine.WorkRequest) bool {
	q := &e.qps[i]
	if err := q.req.Post(e.now, wr); err != nil {
		return false
	}
	q.want[requester] = true
	if !wr.Unsignal {
		e.pending++
	}
	e.reportPost(i, trace.Post, wr)
	return true
}

// postReceive gives connection i's responder its next receive buffer.
func (e *Endpoint) postReceive(i int) {
	q := &e.qps[i]
	rr := e.layout.receive(i, q.recvs)
	if q.resp.PostReceive(e.now, rr) != nil {
		return
	}
	q.recvs++
	q.want[responder] = true
	e.reportPost(i, trace.Receive, engine.WorkRequest{ID: rr.ID, Len: rr.Len, RemoteVA: rr.VA})
}

// completed accounts for one completion and posts what it made room for.
func (e *Endpoint) completed(i int, ev *engine.Event) {
	q := &e.qps[i]
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
