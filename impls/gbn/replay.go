package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// resource is what the responder remembers of a READ or atomic, so that a duplicate gets the same answer without being
// executed again (IBTA 9.7.5.1). A READ is read from memory again; an atomic keeps its result.
type resource struct {
	kind   rc.Kind
	op     roce.Opcode // atomic: which
	start  uint64      // PSNs accepted before its first; a position that, unlike a PSN, never repeats
	psns   int
	reth   roce.RETH
	result uint64

	stream   stream
	answered bool // a stream of it has run to its end
}

// stream is the run of responses that is being sent for a resource: all of them, or what a duplicate asked for.
type stream struct {
	active  bool
	first   psn.PSN // PSN of the first response
	packets int
	sent    int
	va      uint64
	length  uint32
	msn     psn.MSN
}

// nextPSN returns the PSN of the response that goes next.
func (res *resource) nextPSN() psn.PSN { return res.stream.first.Add(res.stream.sent) }

// replayRing holds the newest READs and atomics, oldest first, which is PSN order.
type replayRing struct {
	ring.Ring[resource]
	active int // resources with a running stream
}

// hasRoom reports whether one more request can be remembered. The oldest gives way, but not while its first answer is
// still being sent: then the requester has more outstanding than was agreed.
func (q *replayRing) hasRoom(depth int) bool {
	return q.Len() < depth || depth > 0 && q.At(0).answered
}

// remember adds a resource with a running stream; the caller has asked hasRoom.
func (q *replayRing) remember(res resource, depth int) {
	if q.Len() == depth {
		// A replay that still runs is of no use: the requester sends new requests only when it has the old data.
		if q.At(0).stream.active {
			q.active--
		}
		q.Drop()
	}
	q.Push(res)
	q.active++
}

// next returns the resource whose response goes next, or nil. The oldest comes first: a replay of an old READ goes
// before what remains of a newer one, which the requester cannot use before it has the old (C9-110).
func (q *replayRing) next() *resource {
	if q.active == 0 {
		return nil
	}
	i := 0
	for !q.At(i).stream.active {
		i++
	}
	return q.At(i)
}

// find returns the resource that holds a position, and how many PSNs into it; nil when it is not remembered.
func (q *replayRing) find(pos uint64) (*resource, int) {
	for i := range q.Len() {
		if res := q.At(i); pos-res.start < uint64(res.psns) {
			return res, int(pos - res.start)
		}
	}
	return nil, 0
}

// restart runs a stream of the resource, replacing one that runs: a requester that asks again ignores what is on its
// way, and duplicates cannot pile up.
func (q *replayRing) restart(res *resource, s stream) {
	if !res.stream.active {
		q.active++
	}
	s.active = true
	res.stream = s
}

// replayRead answers a duplicate READ when it asks for a remembered one or a part of it, with address and PSN shifted
// alike. Anything else is dropped in silence (IBTA 9.7.5.1).
func (r *Responder) replayRead(p *roce.Packet, back uint64) {
	res, k := r.replay.find(r.accepted - back)
	if res == nil || res.kind != rc.Read {
		return
	}
	off := uint64(k) * uint64(r.qp.MTU)
	inside := p.RETH.VA == res.reth.VA+off && uint64(p.RETH.DMALen) <= uint64(res.reth.DMALen)-off
	if !inside || !r.mem.Permit(r.qp.PD, p.RETH.RKey, p.RETH.VA, p.RETH.DMALen, engine.RemoteRead) {
		return
	}
	r.replay.restart(res, stream{
		first: p.PSN, packets: r.qp.Packets(p.RETH.DMALen), va: p.RETH.VA, length: p.RETH.DMALen, msn: r.msn,
	})
}

// replayAtomic answers a duplicate atomic with the saved result.
func (r *Responder) replayAtomic(p *roce.Packet, back uint64) {
	res, _ := r.replay.find(r.accepted - back)
	if res == nil || res.op != p.Opcode || res.reth.VA != p.RETH.VA || res.kind != rc.Atomic {
		return
	}
	r.replay.restart(res, stream{first: p.PSN, packets: 1, msn: r.msn})
}

// sendResponse makes the next response of a resource.
func (r *Responder) sendResponse(p *roce.Packet, res *resource) {
	s := &res.stream
	*p = r.response(roce.AtomicAck, res.nextPSN(), s.msn)
	if res.kind == rc.Atomic {
		p.Result = res.result
	} else {
		r.fillRead(p, s)
	}
	s.sent++
	if s.sent == s.packets {
		s.active = false
		r.replay.active--
		res.answered = true
	}
	r.ack.impliedBy(p.PSN)
}

// fillRead makes a READ response: opcode by position, AETH on all but MIDDLE, data from memory as it is now (IBTA
// 9.4.4).
func (r *Responder) fillRead(p *roce.Packet, s *stream) {
	first, last := s.sent == 0, s.sent == s.packets-1
	p.Opcode = rc.ReadOpcode(first, last)
	if p.Opcode == roce.ReadRespMiddle {
		p.AETH = roce.AETH{}
	}
	off := s.sent * r.qp.MTU
	rc.LoadPayload(p, r.mem, s.va+uint64(off), int(s.length)-off, r.qp.MTU)
	p.Pad = rc.Pad(p.Len)
}
