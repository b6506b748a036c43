package pseudoack

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// attempt names a connection that is being set up, as both its messages do.
type attempt struct {
	host host   // of the active side
	id   uint32 // its communication ID
}

// request is what a REQ tells.
type request struct {
	from  engine.Port
	qpn   uint32
	start psn.PSN // where the receiver of the REQ begins
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
				return // it goes later
			}
		}
	}
	b.pass(from.Other(), f)
}

// requested remembers a REQ until its REP comes. As many may be open as flows are followed.
func (b *Box) requested(from engine.Port, f *roce.Frame, m *roce.REQ) {
	key := attempt{f.Src.As16(), m.LocalCommID}
	if _, known := b.table.pending[key]; known || len(b.table.pending) < b.cfg.flows {
		b.table.pending[key] = request{from, m.QPN, m.StartingPSN, m.MTU(), int(m.RNRRetryCount)}
	}
}

// connected begins the flow that a REP completes. Either side may have asked. The Starting PSN in a message is where
// its receiver begins to send, so Local's first PSN is in the message that Remote sent, whichever that is: the REP when
// Local asked, and not the REQ (IBTA 12.6.5, 12.6.8).
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

// disconnecting ends the flow of a DREQ. Local's waits until Remote has what Local was promised: Remote would drop what
// comes after it. It reports whether the message is kept.
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

// learn takes QPN and MSN from the first real ACK of a flow without set-up. The messages up to the PSN that it names
// are known from the buffer. The ACK itself ends here as all others do: the box has one that says as much or more.
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
