package pseudoack

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// host is the IP address of an end, as 16 bytes whichever version it is.
type host [16]byte

// qpAddr identifies a QP by destination address and QPN.
type qpAddr struct {
	host host
	qpn  uint32
}

// to names the QP that a frame is for.
func to(f *roce.Frame) qpAddr { return qpAddr{f.Dst.As16(), f.Packet.DestQP} }

// table holds the flows, indexed by the QP that receives their requests and by the QP that receives the responses.
type table struct {
	remote  map[qpAddr]*flow
	local   map[qpAddr]*flow
	list    []*flow             // in order of creation
	pending map[attempt]request // connections whose REP has not arrived
}

func newTable() table {
	return table{remote: map[qpAddr]*flow{}, local: map[qpAddr]*flow{}, pending: map[attempt]request{}}
}

// byRequest finds the flow of a request.
func (t *table) byRequest(f *roce.Frame) *flow { return t.remote[to(f)] }

// byResponse finds the flow of a response. A response to an unknown QP may be the first of a flow in state watching
// that has its PSN outstanding. If several flows have, the one with the same UDP source port is returned.
func (t *table) byResponse(f *roce.Frame) *flow {
	if fl := t.local[to(f)]; fl != nil {
		return fl
	}
	var found *flow
	n := 0
	for _, fl := range t.list {
		if fl.state != watching || fl.far.host != f.Src.As16() || fl.local.host != f.Dst.As16() ||
			!f.Packet.PSN.In(fl.una, fl.max) {
			continue
		}
		if fl.reply.SrcPort == f.SrcPort {
			return fl
		}
		found = fl
		n++
	}
	if n > 1 {
		return nil
	}
	return found
}

// watch creates a flow whose set-up the box has not seen; nil if the table is full.
func (b *Box) watch(f *roce.Frame) *flow {
	fl := b.add(to(f))
	if fl != nil {
		fl.local.host = f.Src.As16()
		fl.mtu = b.cfg.mtu
	}
	return fl
}

// add creates the flow of the requests to a QP and removes an earlier flow to the same QP.
func (b *Box) add(far qpAddr) *flow {
	if old := b.table.remote[far]; old != nil {
		b.forget(old)
	}
	if len(b.table.list) >= b.cfg.flows {
		b.evict()
	}
	if len(b.table.list) >= b.cfg.flows {
		b.totals[refusedFlows]++
		b.events.Push(b.counter(far.qpn, refusedFlows))
		return nil
	}
	b.born++
	fl := &flow{box: b, far: far, mtu: b.cfg.mtu, rnr: rnrForever, waits: vtime.Never, born: b.born}
	for v := range fl.shown {
		fl.shown[v] = untold
	}
	b.table.remote[far] = fl
	b.table.list = append(b.table.list, fl)
	return fl
}

// evict removes the oldest flow in state silent. It is called for every packet beyond the limit, so it searches only if
// there is such a flow.
func (b *Box) evict() {
	if b.ended == 0 {
		return
	}
	if i := slices.IndexFunc(b.table.list, func(fl *flow) bool { return fl.state == silent }); i >= 0 {
		b.forget(b.table.list[i])
	}
}

// forget removes a flow from the table: no pseudo-ACK with its QPNs is sent any more.
func (b *Box) forget(fl *flow) {
	if fl.gone {
		return
	}
	fl.gone = true
	if fl.state == silent {
		b.ended--
	}
	delete(b.table.remote, fl.far)
	if b.table.local[fl.local] == fl {
		delete(b.table.local, fl.local)
	}
	b.table.list = slices.DeleteFunc(b.table.list, func(o *flow) bool { return o == fl })
}

// know sets the QPN of Local and the MSN base of a flow, which may send pseudo-ACKs from then on.
func (b *Box) know(fl *flow, qpn uint32, base psn.MSN) {
	fl.local.qpn, fl.base, fl.state = qpn, base, promising
	fl.msn = base
	b.table.local[fl.local] = fl
}
