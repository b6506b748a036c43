package pseudoack

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// host is the IP address of an end, as 16 bytes whichever version it is.
type host [16]byte

// qpAddr names a QP as the packets to it do.
type qpAddr struct {
	host host
	qpn  uint32
}

// to names the QP that a frame is for.
func to(f *roce.Frame) qpAddr { return qpAddr{f.Dst.As16(), f.Packet.DestQP} }

// table is the flows, by the QP that their requests go to and by the QP that the responses go to.
type table struct {
	remote  map[qpAddr]*flow
	local   map[qpAddr]*flow
	list    []*flow             // in the order of their beginning
	pending map[attempt]request // set-ups that have begun
}

func newTable() table {
	return table{remote: map[qpAddr]*flow{}, local: map[qpAddr]*flow{}, pending: map[attempt]request{}}
}

// byRequest finds the flow of a request.
func (t *table) byRequest(f *roce.Frame) *flow { return t.remote[to(f)] }

// byResponse finds the flow of a response. One to a QP that is not known yet may be the first of a flow that is
// watched: it names a PSN that this flow has out. Of several such flows, the one that has the same UDP port is meant.
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

// watch begins a flow whose set-up the box has not seen; nil when the table is full.
func (b *Box) watch(f *roce.Frame) *flow {
	fl := b.add(to(f))
	if fl != nil {
		fl.local.host = f.Src.As16()
		fl.mtu = b.cfg.mtu
	}
	return fl
}

// add makes a flow for the requests to a QP, in place of the one that the QP had before.
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

// evict makes room by forgetting the oldest flow that has ended. Every packet beyond the limit asks for room, so
// nothing is looked for that is not there.
func (b *Box) evict() {
	if b.ended == 0 {
		return
	}
	if i := slices.IndexFunc(b.table.list, func(fl *flow) bool { return fl.state == silent }); i >= 0 {
		b.forget(b.table.list[i])
	}
}

// forget ends a flow: no pseudo-ACK with its numbers will be made.
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

// know gives a flow the QP of Local, and starts promising.
func (b *Box) know(fl *flow, qpn uint32, base psn.MSN) {
	fl.local.qpn, fl.base, fl.state = qpn, base, promising
	fl.msn = base
	b.table.local[fl.local] = fl
}
