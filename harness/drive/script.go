package drive

import (
	"sort"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// script holds the scripted posts of one side that are still to come, in order of time.
type script struct {
	posts  []scenario.Post
	posted []scriptedWork // requests that have been posted, for Endpoint.Posted
	work   *poster        // posts the requests
	checks *checks        // counts the posts that are refused
}

type scriptedWork struct {
	Work
	qp    int
	ended bool // completed, with success or not
}

// completed records the completion of a scripted request and reports whether it was signalled. Requests complete in
// order, so it is the first request with this ID that has not completed; if it succeeded, all before it on the QP did.
func (s *script) completed(qp int, ev *engine.Event) (signalled bool) {
	for k := range s.posted {
		w := &s.posted[k]
		if w.qp != qp || w.ended || w.WR.ID != ev.ID {
			continue
		}
		w.ended = true
		for j := range s.posted[:k+1] {
			if s.posted[j].qp == qp && ev.Status == engine.StatusSuccess {
				s.posted[j].Done, s.posted[j].ended = true, true
			}
		}
		return !w.WR.Unsignal
	}
	return false
}

// init sorts the posts by time; posts of the same time keep the order of the text.
func (s *script) init(spec *scenario.Spec, side trace.Side) {
	for _, p := range spec.Posts {
		if p.From == side {
			s.posts = append(s.posts, p)
		}
	}
	sort.SliceStable(s.posts, func(i, j int) bool { return s.posts[i].At < s.posts[j].At })
}

// next returns the time of the next post.
func (s *script) next() vtime.Time {
	if len(s.posts) == 0 {
		return vtime.Never
	}
	return vtime.Time(s.posts[0].At)
}

// post posts the next request, and returns its connection and half. A post that the engine refuses, because its queue
// is full or the QP failed, is counted and not tried again: a script fixes the time of each post.
func (s *script) post() (conn, half int) {
	p := s.posts[0]
	s.posts = s.posts[1:]
	ok := false
	if p.Receive {
		half = responder
		if ok = s.work.offer(p.QP, s.work.layout.scriptedReceive(&p)); ok {
			s.work.qps[p.QP].want[responder] = true
		}
	} else {
		wr := s.work.layout.scripted(&p)
		if ok = s.work.post(p.QP, wr, 0) == nil; ok {
			s.posted = append(s.posted, scriptedWork{Work: Work{WR: wr}, qp: p.QP})
		}
	}
	if !ok {
		s.checks.count(p.QP, refusedPost)
	}
	return p.QP, half
}
