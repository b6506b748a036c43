package drive

import (
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Orders returns the orders by which a program becomes the endpoint of one side, after setup: the parameters, QPs and
// work that an Endpoint of the same Spec has.
func Orders(s *scenario.Spec, side trace.Side) []contract.Order {
	var out []contract.Order
	for _, name := range parameters(s) {
		out = append(out, contract.Order{Op: contract.OpParam, Name: name, Value: s.Params[name]})
	}
	own := newLayout(s, side)
	for i := range s.QPs {
		out = append(out, contract.Order{Op: contract.OpQP, QP: own.pair(s, i)})
	}
	for i := range s.QPs {
		for _, l := range newLoads(s, side, i) {
			out = append(out, contract.Order{Op: contract.OpWork, Work: own.loaded(i, &l)})
		}
	}
	var posts script
	posts.init(s, side)
	for k := range posts.posts {
		out = append(out, contract.Order{Op: contract.OpWork, Work: own.posted(&posts.posts[k])})
	}
	return out
}

// parameters lists the names of the parameters that a Spec sets, sorted.
func parameters(s *scenario.Spec) (names []string) {
	for name := range s.Params {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// pair describes connection i to the program of this side.
func (l *layout) pair(s *scenario.Spec, i int) *contract.QP {
	q := s.Ends(i)[l.side]
	peerVA, peerKey := Remote(s, l.side.Other(), i)
	return &contract.QP{
		Index: i, QPN: q.QPN, PeerQPN: q.DestQPN, Port: SourcePort(i), PKey: q.PKey, MTU: q.MTU,
		PSN: uint32(q.SendPSN), PeerPSN: uint32(q.RecvPSN), Timeout: nanoseconds(q.TransportTimer()),
		Retries: int(q.RetryCount), RNRRetries: int(q.RNRRetry), RNRTimer: int(q.MinRNRTimer), Depth: q.QueueDepth,
		AckEvery: q.AckReqEvery, Coalesce: max(1, q.AckCoalesce),
		MaxRead: q.MaxRdAtomic, MaxDestRead: q.MaxDestRd, Access: access(q.Access),
		Receives: receives(s, l.side), ReceiveLen: l.inSlot, Replenish: s.Replenish,
		VA: Target(i), Len: l.size(), RKey: Key(l.side, i), PeerVA: peerVA, PeerRKey: peerKey,
		ReadOnlyVA: readOnly(i), ReadOnlyLen: readOnlyLen, ReadOnlyKey: ReadOnlyKey(l.side, i),
	}
}

// nanoseconds converts a time to the unit of the contract.
func nanoseconds(d vtime.Duration) int64 { return int64(d / vtime.Nanosecond) }

// access lists the rights that the responder grants, as words of the contract.
func access(a engine.Access) (words string) {
	for _, right := range []struct {
		bit  engine.Access
		word string
	}{{engine.RemoteWrite, "write"}, {engine.RemoteRead, "read"}, {engine.RemoteAtomic, "atomic"}} {
		if a&right.bit != 0 {
			words += " " + right.word
		}
	}
	return strings.TrimSpace(words)
}

// loaded describes a load on connection i.
func (l *layout) loaded(i int, ld *load) *contract.Work {
	_, key := Remote(l.spec, l.side.Other(), i)
	return &contract.Work{
		OnQP: i, Operation: ld.Op.String(), First: ld.first, Bytes: uint32(ld.Msg), Count: ld.Count,
		Stride: l.slot, Slots: l.slots, Key: key,
	}
}

// posted describes one scripted request or receive.
func (l *layout) posted(p *scenario.Post) *contract.Work {
	wr := l.scripted(p)
	w := &contract.Work{
		OnQP: p.QP, Operation: wr.Op.String(), First: wr.ID, Bytes: wr.Len, Count: 1, After: nanoseconds(p.At),
		Slots:  1,
		Offset: p.RemoteOff, Key: wr.RKey, Imm: wr.Imm, InvKey: wr.InvKey, Compare: wr.Compare, SwapAdd: wr.SwapAdd,
		Solicited: wr.Solicited, Unsignal: wr.Unsignal, Receive: p.Receive,
	}
	if p.Receive {
		w.Operation, w.Offset, w.Key = "", p.LocalOff, 0
	}
	return w
}

// Needs returns the features that a program must have to be the endpoint of one side. box says that a middlebox is in
// the path.
func Needs(s *scenario.Spec, side trace.Side, box bool) contract.Need {
	n := contract.Need{MTU: s.QP[side].MTU, QPs: s.QPs, Params: parameters(s), Management: s.CM.Managed(box),
		Flows: s.Flowing()}
	note := func(from trace.Side, op engine.Op) {
		list := &n.Operations
		if from != side {
			list = &n.Serves
		}
		if !slices.Contains(*list, op.String()) {
			*list = append(*list, op.String())
		}
	}
	for _, l := range s.Loads {
		note(l.From, l.Op)
	}
	n.Turns = s.Turns.Taken() || slices.ContainsFunc(s.Loads, func(l scenario.Load) bool { return l.Ahead > 0 })
	for _, p := range s.Posts {
		if !p.Receive {
			note(p.From, p.WR.Op)
		}
	}
	return n
}

// MeetsRNR reports whether an RNR NAK may reach the requester of a side: its requests take receives, of which there may
// be too few, or an RNR NAK is injected.
func MeetsRNR(s *scenario.Spec, side trace.Side) bool {
	crafted := slices.ContainsFunc(s.Injections, func(in scenario.Injection) bool {
		return in.To == side && strings.Contains(strings.ToUpper(in.Packet), "RNR")
	})
	return crafted || takesReceives(s, side) && (!s.Replenish || s.Receives < s.QP[side].QueueDepth)
}

// takesReceives reports whether a side has requests to post that take receives of its peer.
func takesReceives(s *scenario.Spec, side trace.Side) bool {
	return slices.ContainsFunc(s.Loads, func(l scenario.Load) bool { return l.From == side && l.Op.TakesReceive() }) ||
		slices.ContainsFunc(s.Posts, func(p scenario.Post) bool {
			return p.From == side && !p.Receive && p.WR.Op.TakesReceive()
		})
}

// Region is memory of one side that the peer may access.
type Region struct {
	RKey    uint32
	VA, Len uint64
	Access  engine.Access
}

// RegionsOf returns the memory of one side that its peer may access on connection i; none for a device, which reports
// its own.
func RegionsOf(s *scenario.Spec, side trace.Side, i int) []Region {
	if s.Devices[side].Present() {
		return nil
	}
	return []Region{{Key(side, i), Target(i), RemoteLen(s, side), engine.AllAccess},
		{ReadOnlyKey(side, i), readOnly(i), readOnlyLen, engine.RemoteRead}}
}

// Series is a sequence of requests that one side is to post on a connection, in this order. Requests of different
// series may be interleaved.
type Series struct {
	First    uint64 // ID of the first request; the IDs of the others follow, unless Scripted
	Count    int    // number of requests; 0 is no limit
	Scripted bool   // each request has an ID of its own, and one that the engine refuses is not posted again
	Abroad   bool   // the peer announces at run time the addresses for READs and WRITEs

	// Request returns request k, from 0 on. It is built anew for each call.
	Request func(k int) engine.WorkRequest
}

// SeriesOf returns the requests that a Spec gives one side to post on connection i. The result is small, however many
// requests there are.
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

// turnsOf returns the number of requests that a side posts on connection 0 when applications take turns.
func turnsOf(s *scenario.Spec, side trace.Side) int {
	switch first := side == s.Turns.From; {
	case s.Turns.Kind == scenario.WriteTurns:
		return s.Turns.Count
	case first:
		return 2 * s.Turns.Count // SENDs of the buffer to READ and of the buffer to WRITE
	}
	return 4 * s.Turns.Count // the READ, the SEND that it is done, the WRITE, the SEND that it is done
}

// turning returns the requests of a side that takes turns, in the order in which turns posts them.
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
			return engine.WorkRequest{ID: uint64(k), Op: engine.OpWrite, Len: uint32(t.Msg), LocalVA: at(k),
				RemoteVA: va, RKey: key}
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
