package merge

import (
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// flowKey identifies a direction of a connection by fields of every frame: the hosts, by number, and the destination
// QP.
type flowKey struct {
	src, dst int32
	qp       uint32
}

// place is the connection and the sender of a frame.
type place struct {
	conn int
	from trace.Side
}

// portKey identifies an end of a connection over UDP or TCP by its port.
type portKey struct {
	addr netip.Addr
	port uint16
}

// endKey identifies an end of a connection as the destination of packets.
type endKey struct {
	addr netip.Addr
	qp   uint32
}

// datagramKey identifies the datagram that an IP fragment belongs to.
type datagramKey struct {
	src netip.Addr
	id  uint16
}

// fragmentLimit bounds the datagrams whose fragments can be placed.
const fragmentLimit = 1 << 12

// atlas finds the connection and the sender of a frame from its addresses and destination QP, or its ports. The indexes
// that few frames need, ports and ends, are built when the first of those frames comes.
type atlas struct {
	header *trace.Header
	flows  map[flowKey]place
	latest [64]settled // cache by QP number, since frames of a flow come in bursts
	hosts  map[netip.Addr]host
	known  map[portKey]place     // by the UDP source port of an end whose port is known
	ports  map[portKey]place     // by the source port of packets from such an end; nil until the first look-up
	ends   map[endKey]place      // by destination alone; nil until the first look-up
	parts  map[datagramKey]place // datagrams whose first fragment was seen
}

// host is a known address: the number that replaces it in flowKey, and its side.
type host struct {
	number int32
	side   trace.Side
}

// settled is a flow that was looked up, and its place.
type settled struct {
	src, dst netip.Addr
	qp       uint32
	place    place
}

// newAtlas indexes the ends of all connections.
func newAtlas(h *trace.Header) *atlas {
	a := &atlas{header: h, flows: make(map[flowKey]place, 2*len(h.Conns)), known: map[portKey]place{},
		parts: map[datagramKey]place{}, hosts: map[netip.Addr]host{}}
	a.each(func(from, to *trace.End, p place) {
		// Several connections may run between the same two hosts; the first decides their sides.
		if _, ok := a.hosts[from.Addr]; !ok {
			a.hosts[from.Addr] = host{int32(len(a.hosts)), p.from}
		}
	})
	a.each(func(from, to *trace.End, p place) {
		if from.Known {
			a.known[portKey{from.Addr, from.Port}] = p
		}
		if to.QP.QPN != 0 {
			a.flows[flowKey{a.hosts[from.Addr].number, a.hosts[to.Addr].number, to.QP.QPN}] = p
		}
		for _, qp := range to.Misaddressed {
			a.flows[flowKey{a.hosts[from.Addr].number, a.hosts[to.Addr].number, qp}] = p
		}
	})
	return a
}

// each calls f with every end and its peer.
func (a *atlas) each(f func(from, to *trace.End, p place)) {
	for i := range a.header.Conns {
		ends := &a.header.Conns[i].Ends
		f(&ends[trace.A], &ends[trace.B], place{i, trace.A})
		f(&ends[trace.B], &ends[trace.A], place{i, trace.B})
	}
}

// flow finds a direction of a connection.
func (a *atlas) flow(f *roce.Frame) (p place, ok bool) {
	l := &a.latest[f.Packet.DestQP%uint32(len(a.latest))]
	if l.qp == f.Packet.DestQP && l.src == f.Src && l.dst == f.Dst && l.src.IsValid() {
		return l.place, true
	}
	src, known := a.hosts[f.Src]
	dst, also := a.hosts[f.Dst]
	if p, ok = a.flows[flowKey{src.number, dst.number, f.Packet.DestQP}]; !ok || !known || !also {
		return place{}, false
	}
	*l = settled{f.Src, f.Dst, f.Packet.DestQP, p}
	return p, true
}

// side returns the side of an address.
func (a *atlas) side(addr netip.Addr) (trace.Side, bool) {
	h, ok := a.hosts[addr]
	return h.side, ok && addr.IsValid()
}

// strangers reports whether a frame is unrelated traffic: it belongs to no connection, and is no RoCEv2 packet with a
// good ICRC, such as a frame of another program that uses port 4791.
func (a *atlas) strangers(f *roce.Frame, r *trace.Record) bool {
	if r.Conn >= 0 || r.ICRC == trace.Good || !f.Src.IsValid() {
		return false
	}
	_, from := a.side(f.Src)
	_, to := a.side(f.Dst)
	return !from && !to
}

// sends reports whether a RoCEv2 packet to another UDP port is of a direction of a connection, by its addresses and its
// destination QP, which the decoder has not read. It sets the sender of its record.
func (a *atlas) sends(f *roce.Frame, r *trace.Record) bool {
	at, n, ok := roce.FieldSpan(r.Raw, "destqp")
	if !ok || n != 3 {
		return false
	}
	to := *f
	to.Packet.DestQP = uint32(r.Raw[at])<<16 | uint32(r.Raw[at+1])<<8 | uint32(r.Raw[at+2])
	p, ok := a.flow(&to)
	if ok {
		r.From = p.from
	}
	return ok
}

// crosses reports whether a frame goes from a host of one side to a host of the other: damage does not turn two
// addresses into two other known ones.
func (a *atlas) crosses(f *roce.Frame) bool {
	from, known := a.side(f.Src)
	to, also := a.side(f.Dst)
	return known && also && from != to
}

// to finds an end of a connection by its address and QP number, and returns the place of the sender to it.
func (a *atlas) to(k endKey) (p place, ok bool) {
	if a.ends == nil {
		a.ends = map[endKey]place{}
		a.each(func(_, to *trace.End, p place) {
			if to.QP.QPN != 0 {
				a.ends[endKey{to.Addr, to.QP.QPN}] = p
			}
		})
	}
	p, ok = a.ends[k]
	return p, ok
}

// at finds an end of a connection over UDP or TCP by its port.
func (a *atlas) at(k portKey) (p place, ok bool) {
	if a.ports == nil {
		a.ports = map[portKey]place{}
		a.each(func(from, _ *trace.End, p place) { a.ports[portKey{from.Addr, iwarp.PortOf(from.QP.QPN)}] = p })
	}
	p, ok = a.ports[k]
	return p, ok
}

// find places a frame; conn is -1 when it belongs to no connection. A set-up message, or a packet for an unknown QP,
// belongs to the connection of its UDP source port, if that port is known to belong to one end: other ports may serve
// many connections. A packet from an unknown address belongs to the connection of its destination QP; if the QP is
// unknown too, its sender is taken to be the side opposite to its destination.
func (a *atlas) find(f *roce.Frame) place {
	if f.Packet.Opcode.OverIP() {
		if p, ok := a.findPort(f); ok {
			return p
		}
	} else if p, ok := a.flow(f); ok {
		return p
	} else if p, ok := a.known[portKey{f.Src, f.SrcPort}]; ok {
		return p
	}
	if s, ok := a.side(f.Src); ok {
		return place{-1, s}
	}
	if p, ok := a.to(endKey{f.Dst, f.Packet.DestQP}); ok && !f.Packet.Opcode.OverIP() {
		return p
	}
	if s, ok := a.side(f.Dst); ok {
		return place{-1, s.Other()}
	}
	return place{-1, trace.A}
}

// place is find for the frame of a record. A frame with a reserved opcode that matches no flow, but matches one when
// decoded as a LoWAR packet, is a LoWAR packet.
func (a *atlas) place(f *roce.Frame, r *trace.Record) place {
	if r.Reserved() {
		other, headers := *r, roce.Frame{}
		if other.DecodeRepair(&headers); !a.isFlow(f) && a.isFlow(&headers) {
			*r, *f = other, headers
		}
	}
	return a.find(f)
}

// isFlow reports whether a direction of a connection has the addresses and the QP of a frame.
func (a *atlas) isFlow(f *roce.Frame) bool {
	_, ok := a.flow(f)
	return ok
}

// findPort places a packet without BTH by the port that is specific to one end, and a fragment without ports by the
// first fragment of its datagram.
func (a *atlas) findPort(f *roce.Frame) (p place, ok bool) {
	key := datagramKey{f.Src, f.Packet.IP.ID}
	if !f.Packet.IP.Fragment.First() {
		p, ok = a.parts[key]
		return p, ok
	}
	port, senders := iwarp.PeerPort(f.SrcPort, f.DstPort)
	if senders {
		p, ok = a.at(portKey{f.Src, port})
	} else if p, ok = a.at(portKey{f.Dst, port}); ok {
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
