package trace

import (
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// flowKey is a direction of a connection as every frame shows it.
type flowKey struct {
	src, dst netip.Addr
	qp       uint32
}

// place is where a frame belongs.
type place struct {
	conn int
	from Side
}

// atlas finds the connection and the sender of a frame from its addresses and destination QP.
type atlas struct {
	flows map[flowKey]place
	sides map[netip.Addr]Side
}

// newAtlas indexes the ends of all connections.
func newAtlas(h *Header) *atlas {
	a := &atlas{flows: map[flowKey]place{}, sides: map[netip.Addr]Side{}}
	for i := range h.Conns {
		ends := &h.Conns[i].Ends
		for _, s := range []Side{A, B} {
			to := s.Other()
			// Several connections may run between the same two hosts; the first decides their sides.
			if _, ok := a.sides[ends[s].Addr]; !ok && ends[s].Addr.IsValid() {
				a.sides[ends[s].Addr] = s
			}
			if ends[to].QP.QPN != 0 {
				a.flows[flowKey{ends[s].Addr, ends[to].Addr, ends[to].QP.QPN}] = place{i, s}
			}
		}
	}
	return a
}

// find places a frame; conn is -1 when it belongs to no connection. A frame from an address that nobody has is taken for
// one from the other side than its destination.
func (a *atlas) find(f *roce.Frame) place {
	if p, ok := a.flows[flowKey{f.Src, f.Dst, f.Packet.DestQP}]; ok {
		return p
	}
	if s, ok := a.sides[f.Src]; ok {
		return place{-1, s}
	}
	if s, ok := a.sides[f.Dst]; ok {
		return place{-1, s.Other()}
	}
	return place{-1, A}
}
