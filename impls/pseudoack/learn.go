package pseudoack

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// attempt identifies a connection that is being set up by the two values that both its REQ and its REP carry.
type attempt struct {
	host host   // the side that sent the REQ
	id   uint32 // its communication ID
}

// request holds the fields of a REQ that the flow needs.
type request struct {
	from  engine.Port
	qpn   uint32
	start psn.PSN // first PSN of the receiver of the REQ
	mtu   int
	rnr   int // RNR retries of the sender
}

// handleCM follows the set-up: "to acquire dstQPN and MSN, our RDMA WAN accelerator traces and estimates them by
// analyzing the setup messages of RDMA CM" (section 5.2). The messages pass unchanged.
func (b *Box) handleCM(from engine.Port, f *roce.Frame) {
	_, m, err := roce.DecodeCM(f.Packet.Payload)
	if err == nil {
		switch m := m.(type) {
		case *roce.REQ:
			b.requested(from, f, m)
		case *roce.REP:
			b.connected(from, f, m)
		case *roce.REJ:
			delete(b.table.pending, attempt{f.Dst.As16(), m.Remote})
		case *roce.DREQ:
			if b.disconnecting(from, f, m) {
				return // it is sent later
			}
		}
	}
	b.pass(from.Other(), f)
}

// requested records a REQ until its REP arrives. Their number is limited like that of the flows.
func (b *Box) requested(from engine.Port, f *roce.Frame, m *roce.REQ) {
	key := attempt{f.Src.As16(), m.LocalCommID}
	if _, known := b.table.pending[key]; known || len(b.table.pending) < b.cfg.flows {
		b.table.pending[key] = request{from, m.QPN, m.StartingPSN, m.MTU(), int(m.RNRRetryCount)}
	}
}

// connected creates the flow of a connection when its REP arrives. Either side may have sent the REQ. The Starting PSN
// of a message is the first PSN of its receiver, so Local's first PSN is in the message that Remote sent: in the REP if
// Local sent the REQ, otherwise in the REQ (IBTA 12.6.5, 12.6.8).
func (b *Box) connected(from engine.Port, f *roce.Frame, m *roce.REP) {
	key := attempt{f.Dst.As16(), m.Remote}
	q, ok := b.table.pending[key]
	if !ok || q.from == from {
		return
	}
	delete(b.table.pending, key)
	rnr := q.rnr
	local, far, start := qpAddr{f.Dst.As16(), q.qpn}, qpAddr{f.Src.As16(), m.QPN}, m.StartingPSN
	if q.from == engine.WAN {
		local, far, start = qpAddr{f.Src.As16(), m.QPN}, qpAddr{f.Dst.As16(), q.qpn}, q.start
		rnr = int(m.RNRRetryCount)
	}
	if old := b.table.local[local]; old != nil {
		b.forget(old)
	}
	fl := b.add(far)
	if fl == nil {
		return
	}
	fl.local, fl.rnr = local, rnr
	if q.mtu > 0 {
		fl.mtu = q.mtu
	}
	fl.begin(start)
	b.know(fl, local.qpn, 0)
	fl.tell()
}

// disconnecting ends the flow of a DREQ. A DREQ of Local is held until Remote has acknowledged the requests in the
// buffer: Remote would drop requests that arrive after the DREQ. It reports whether the message is held.
func (b *Box) disconnecting(from engine.Port, f *roce.Frame, m *roce.DREQ) bool {
	if from == engine.WAN {
		if fl := b.table.local[qpAddr{f.Dst.As16(), m.RemoteQPN}]; fl != nil {
			if fl.state == promising && fl.una.Less(fl.acked) {
				fl.breakPromise()
			}
			fl.stop(silent)
		}
		return false
	}
	fl := b.table.remote[qpAddr{f.Dst.As16(), m.RemoteQPN}]
	if fl == nil || fl.state == silent {
		return false
	}
	if !fl.leaving {
		fl.leaving = true
		fl.dreq.push(f)
	}
	fl.leave()
	return true
}

// learn takes Local's QPN and the MSN from the first real ACK of a flow whose set-up the box has not seen. The buffer
// shows how many messages end before the PSN of the ACK. The ACK itself is not forwarded, like all others: the box
// sends its own, which acknowledges at least as much.
func (fl *flow) learn(p *roce.Packet) {
	done := fl.count
	for i := range fl.buffer.n {
		if s := fl.buffer.at(i); p.PSN.Less(s.end) {
			done = s.count
			break
		}
	}
	fl.box.know(fl, p.DestQP, p.AETH.MSN.Add(-done))
	fl.advanced(learned, 1)
}
