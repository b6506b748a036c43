package drive

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Ordered returns how many work requests a Spec tells each side to post, receives left out, and whether some load goes on until the
// run ends, which is not counted.
func Ordered(s *scenario.Spec) (n [2]int64, endless bool) {
	for _, l := range s.Loads {
		n[l.From] += int64(l.Count) * int64(s.QPs)
		endless = endless || l.Count == 0
	}
	for _, p := range s.Posts {
		if !p.Receive {
			n[p.From]++
		}
	}
	if s.Turns.Taken() {
		for _, side := range []trace.Side{trace.A, trace.B} {
			n[side] += int64(turnsOf(s, side))
		}
	}
	return n, endless
}

// Series is requests that one side is told to post on a connection, one after the other. Those of different series may be mixed.
type Series struct {
	First    uint64 // ID of the first; the others count from there, unless Scripted
	Count    int    // requests; 0 is without end
	Scripted bool   // each has an ID of its own, and one that the engine refuses is not posted again
	Abroad   bool   // the peer tells at run time where READs and WRITEs act

	// Request returns the k-th, from 0 on. It is made anew for each call.
	Request func(k int) engine.WorkRequest
}

// SeriesOf returns what a Spec tells one side to post on connection i. It takes the memory of a few words, however many requests
// there are.
func SeriesOf(s *scenario.Spec, side trace.Side, i int) []Series {
	own := newLayout(s, side)
	if s.Turns.Taken() {
		return own.turning(i)
	}
	var out []Series
	for _, l := range newLoads(s, side, i) {
		out = append(out, Series{First: l.first, Count: l.Count, Request: func(k int) engine.WorkRequest {
			at := l
			at.posted = k
			return own.request(i, &at)
		}})
	}
	var all script
	all.init(s, side)
	var posts []scenario.Post
	for _, p := range all.posts {
		if p.QP == i && !p.Receive {
			posts = append(posts, p)
		}
	}
	if len(posts) > 0 {
		out = append(out, Series{Count: len(posts), Scripted: true,
			Request: func(k int) engine.WorkRequest { return own.scripted(&posts[k]) }})
	}
	return out
}

// turnsOf is how many requests a side posts that takes turns, on connection 0.
func turnsOf(s *scenario.Spec, side trace.Side) int {
	switch first := side == s.Turns.From; {
	case s.Turns.Kind == scenario.WriteTurns:
		return s.Turns.Count
	case first:
		return 2 * s.Turns.Count // where to READ, where to WRITE
	}
	return 4 * s.Turns.Count // the READ, that it is done, the WRITE, that it is done
}

// turning is the requests of a side that takes turns, as package drive's application posts them.
func (l *layout) turning(i int) []Series {
	if i != 0 {
		return nil
	}
	t := l.spec.Turns
	va, key := Remote(l.spec, l.side.Other(), 0)
	s := Series{Count: turnsOf(l.spec, l.side)}
	at := func(k int) uint64 { return l.source(0) + uint64(k)%l.slots*l.slot }
	if t.Kind == scenario.WriteTurns {
		s.Request = func(k int) engine.WorkRequest {
			return engine.WorkRequest{ID: uint64(k), Op: engine.OpWrite, Len: uint32(t.Msg), LocalVA: at(k), RemoteVA: va, RKey: key}
		}
		return []Series{s}
	}
	reaches := [4]engine.Op{engine.OpRead, engine.OpSend, engine.OpWrite, engine.OpSend}
	s.Abroad = true
	s.Request = func(k int) engine.WorkRequest {
		op := engine.OpSend
		if l.side != t.From {
			op = reaches[k%len(reaches)]
		}
		if op == engine.OpSend {
			return engine.WorkRequest{ID: uint64(k), Op: op, Len: pingLen, LocalVA: at(k)}
		}
		return engine.WorkRequest{ID: uint64(k), Op: op, Len: uint32(t.Msg), LocalVA: l.land(0)}
	}
	return []Series{s}
}
