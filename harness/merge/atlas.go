package merge

import (
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// flowKey is a direction of a connection as every frame shows it.
type flowKey struct {
	src, dst netip.Addr
	qp       uint32
}

// place is where a frame belongs.
type place struct {
	conn int
	from trace.Side
}

// portKey is the end of a connection over UDP or TCP that has a port of its own.
type portKey struct {
	addr netip.Addr
	port uint16
}

// endKey is an end of a connection, to which packets are addressed.
type endKey struct {
	addr netip.Addr
	qp   uint32
}

// datagramKey tells the fragments of one datagram from others.
type datagramKey struct {
	src netip.Addr
	id  uint16
}

// fragmentLimit bounds the datagrams whose fragments can be placed.
const fragmentLimit = 1 << 12

// atlas finds the connection and the sender of a frame from its addresses and destination QP, or its ports.
type atlas struct {
	flows map[flowKey]place
	ports map[portKey]place     // of packets from such an end
	known map[portKey]place     // by the UDP source port that an end of ours has
	ends  map[endKey]place      // by destination alone
	parts map[datagramKey]place // datagrams whose first fragment was seen
	sides map[netip.Addr]trace.Side
}

// newAtlas indexes the ends of all connections.
func newAtlas(h *trace.Header) *atlas {
	a := &atlas{flows: map[flowKey]place{}, ports: map[portKey]place{}, known: map[portKey]place{},
		ends: map[endKey]place{}, parts: map[datagramKey]place{}, sides: map[netip.Addr]trace.Side{}}
	for i := range h.Conns {
		ends := &h.Conns[i].Ends
		for _, s := range []trace.Side{trace.A, trace.B} {
			to := s.Other()
			// Several connections may run between the same two hosts; the first decides their sides.
			if _, ok := a.sides[ends[s].Addr]; !ok && ends[s].Addr.IsValid() {
				a.sides[ends[s].Addr] = s
			}
			a.ports[portKey{ends[s].Addr, iwarp.PortOf(ends[s].QP.QPN)}] = place{i, s}
			if ends[s].Known {
				a.known[portKey{ends[s].Addr, ends[s].Port}] = place{i, s}
			}
			if ends[to].QP.QPN != 0 {
				a.flows[flowKey{ends[s].Addr, ends[to].Addr, ends[to].QP.QPN}] = place{i, s}
				a.ends[endKey{ends[to].Addr, ends[to].QP.QPN}] = place{i, s}
			}
		}
	}
	return a
}

// find places a frame; conn is -1 when it belongs to no connection. A set-up message, or a packet for a QP that nobody has,
// belongs where its UDP source port says, if the port is one of ours: those of others may serve many connections. One from an
// address that nobody has is the affair of the QP that it is for, and if nobody has that either, it is taken for one from the
// other side than its destination.
func (a *atlas) find(f *roce.Frame) place {
	if f.Packet.Opcode.OverIP() {
		if p, ok := a.findPort(f); ok {
			return p
		}
	} else if p, ok := a.flows[flowKey{f.Src, f.Dst, f.Packet.DestQP}]; ok {
		return p
	} else if p, ok := a.known[portKey{f.Src, f.SrcPort}]; ok {
		return p
	}
	if s, ok := a.sides[f.Src]; ok {
		return place{-1, s}
	}
	if p, ok := a.ends[endKey{f.Dst, f.Packet.DestQP}]; ok && !f.Packet.Opcode.OverIP() {
		return p
	}
	if s, ok := a.sides[f.Dst]; ok {
		return place{-1, s.Other()}
	}
	return place{-1, trace.A}
}

// findPort places a packet without BTH by the port that is not that of all, and a fragment without ports by the first
// fragment of its datagram.
func (a *atlas) findPort(f *roce.Frame) (p place, ok bool) {
	key := datagramKey{f.Src, f.Packet.IP.ID}
	if !f.Packet.IP.Fragment.First() {
		p, ok = a.parts[key]
		return p, ok
	}
	port, senders := iwarp.PeerPort(f.SrcPort, f.DstPort)
	if senders {
		p, ok = a.ports[portKey{f.Src, port}]
	} else if p, ok = a.ports[portKey{f.Dst, port}]; ok {
		p.from = p.from.Other()
	}
	if ok && f.Packet.IP.Fragment.More() {
		if len(a.parts) == fragmentLimit {
			clear(a.parts)
		}
		a.parts[key] = p
	}
	return p, ok
}
