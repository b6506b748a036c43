package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// resource is the responder's record of an executed READ or atomic, so that a duplicate is answered without being
// executed again (IBTA 9.7.5.1). The data of a READ is read from memory again; an atomic keeps its result.
type resource struct {
	kind   rc.Kind     // Read or Atomic
	op     roce.Opcode // opcode of an atomic
	start  uint64      // Responder.accepted before the request: its position, which, unlike a PSN, never wraps
	psns   int         // PSNs that the request takes: the number of its responses
	reth   roce.RETH   // address, key and length of the request
	result uint64      // original value that an atomic returned

	stream   stream
	answered bool // all responses of a stream have been sent at least once
}

// stream is the sequence of responses being sent for a resource: all of its responses, or those that a duplicate asks
// for.
type stream struct {
	active  bool    // responses remain to be sent
	first   psn.PSN // PSN of the first response
	packets int     // number of responses
	sent    int     // responses sent; 0 <= sent < packets while active
	va      uint64  // address of the data of the first response
	length  uint32  // bytes of data in all responses
	msn     psn.MSN // MSN that the responses carry
}

// nextPSN returns the PSN of the next response.
func (res *resource) nextPSN() psn.PSN { return res.stream.first.Add(res.stream.sent) }

// replayRing holds the newest READs and atomics, oldest first, which is PSN order.
type replayRing struct {
	ring.Ring[resource]
	active int // resources with a running stream
}

// hasRoom reports whether the ring can record one more request. A full ring drops its oldest request, but not before
// all responses to that request have been sent once: until then the requester has more than depth requests outstanding.
func (q *replayRing) hasRoom(depth int) bool {
	return q.Len() < depth || depth > 0 && q.At(0).answered
}

// remember adds a resource with an active stream; hasRoom has reported true.
func (q *replayRing) remember(res resource, depth int) {
	if q.Len() == depth {
		// A replay still active is not needed: the requester sends a new request only after it has the old data.
		if q.At(0).stream.active {
			q.active--
		}
		q.Drop()
	}
	q.Push(res)
	q.active++
}

// next returns the resource whose response is sent next, or nil. The oldest is first: the requester cannot use the
// responses to a newer READ before it has the data of the older (C9-110).
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

// find returns the resource that contains the position pos, and the offset of pos in the resource in PSNs; or nil if no
// recorded resource contains pos.
func (q *replayRing) find(pos uint64) (*resource, int) {
	for i := range q.Len() {
		if res := q.At(i); pos-res.start < uint64(res.psns) {
			return res, int(pos - res.start)
		}
	}
	return nil, 0
}

// restart starts a stream of the resource, and replaces an active stream: a requester that repeats a READ ignores the
// responses in flight, and duplicates cannot pile up.
func (q *replayRing) restart(res *resource, s stream) {
	if !res.stream.active {
		q.active++
	}
	s.active = true
	res.stream = s
}

// replayRead answers a duplicate READ that asks for a recorded READ or a part of one, whose address and PSN are
// advanced by the same number of packets. Any other duplicate READ is dropped without an answer (IBTA 9.7.5.1).
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

// sendResponse fills p with the next response of a resource.
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

// fillRead completes p as a READ response: the opcode follows from the position, all but MIDDLE have an AETH, and the
// data is the current content of memory (IBTA 9.4.4).
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
