package gobackone

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// Requester is go-back-N's with a queue of retransmissions before it.
//
// "If a normal ACK is received, the minimum transmission unit is added to the serial number of the sent packet
// according to the normal sending process. If RACK is received, the system switches to the retransmission process
// directly." (IV-B)
type Requester struct {
	inner   *gbn.Requester
	retrans retransQueue
	rtoOne  bool

	racks, resent int64 // RACKs that named a packet in flight; packets sent from the queue
}

func newRequester(inner *gbn.Requester, qp *engine.QP, cfg config) *Requester {
	r := &Requester{inner: inner, rtoOne: cfg.rtoOne}
	r.retrans.restart(qp.SendPSN)
	return r
}

// Post implements engine.Requester.
func (r *Requester) Post(now vtime.Time, wr engine.WorkRequest) error { return r.inner.Post(now, wr) }

// HandlePacket implements engine.Engine: "The type of response signal received is determined based on the protocol
// number of Layer 3 forwarding. 0xFC indicates ACK and 0xFD indicates RACK." (IV-C3) Here the opcode distinguishes
// them.
func (r *Requester) HandlePacket(now vtime.Time, p *roce.Packet) {
	if p.Opcode == roce.RACK {
		r.handleRACK(now, p)
		return
	}
	before := r.cursor()
	r.inner.HandlePacket(now, p)
	if r.rewound(before) {
		refused := p.Opcode == roce.Acknowledge && p.AETH.Syndrome.IsRNR()
		r.handleRewind(refused)
	}
}

// handleRACK processes a RACK: all packets before its PSN have arrived, and so has the packet that it names; the
// packets between that one and the last one named have not. "The serial numbers of the packets that are not received
// are confirmed by the serial numbers of the RACK, and these packets are placed in the retransmission queue." (IV-B)
//
// RACKs overtake READ responses at the responder, so a RACK that acknowledges a READ is no implied NAK of its data.
func (r *Requester) handleRACK(now vtime.Time, p *roce.Packet) {
	una, _, max := r.inner.Window()
	expected, seq := p.PSN, p.SACK.PSN
	if r.inner.Failed() {
		return
	}
	if expected.In(una, max) {
		r.inner.Acknowledge(now, expected)
	}
	// A RACK that names nothing in flight, or no early packet, counts for its cumulative part alone (NEG-EXT-001).
	if !seq.In(una, max) || !expected.Less(seq) {
		return
	}
	r.racks++
	una, _, _ = r.inner.Window()
	r.retrans.rack(psn.Max(una, expected), seq, r.inner.LastOf(seq))
}

// PollTransmit implements engine.Engine: "The packets in the queue are retransmitted with a high priority." (IV-B)
// Algorithm 2 sends m_mtu bytes for each; here a packet is sent again as it was, so a short one stays short.
func (r *Requester) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	if r.inner.Silent(now) {
		return false
	}
	una, nxt, _ := r.inner.Window()
	at, ok := r.retrans.next(una, nxt)
	if !ok {
		// "When RACK is no longer received, the sender returns to the normal packet sending process." (IV-B)
		return r.inner.PollTransmit(now, p)
	}
	r.retrans.sent(r.inner.Resend(now, at, p))
	r.resent++
	return true
}

// Urgent implements engine.Urgent: "the packets in the retransQueue are preferentially sent" (IV-C3).
func (r *Requester) Urgent() bool {
	una, nxt, _ := r.inner.Window()
	_, ok := r.retrans.next(una, nxt)
	return ok && !r.inner.Failed()
}

// HandleTimer implements engine.Engine.
func (r *Requester) HandleTimer(now vtime.Time) {
	before := r.cursor()
	r.inner.HandleTimer(now)
	if r.rewound(before) {
		r.handleRewind(r.rtoOne)
	}
}

// cursor returns the PSN that is transmitted next.
func (r *Requester) cursor() psn.PSN {
	_, nxt, _ := r.inner.Window()
	return nxt
}

// rewound reports whether go-back-N went back since the cursor was at before.
func (r *Requester) rewound(before psn.PSN) bool { return r.cursor().Less(before) }

// handleRewind follows go-back-N in going back: after a timeout, which the paper leaves to HPCC ("m_retransEvent",
// Algorithm 1, line 10), after an RNR NAK, or for a READ whose data are missing. The packets found missing are
// forgotten, because all packets are sent again. With one, only the oldest is, because the peer keeps later packets.
func (r *Requester) handleRewind(one bool) {
	una, _, _ := r.inner.Window()
	switch {
	case r.inner.Failed():
	case one:
		r.retrans.insist(una, r.inner.LastOf(una))
		r.inner.Resume()
	default:
		r.retrans.restart(una)
	}
}

// PollTimer implements engine.Engine.
func (r *Requester) PollTimer() (vtime.Time, bool) { return r.inner.PollTimer() }

// PollEvent implements engine.Engine.
func (r *Requester) PollEvent() (engine.Event, bool) { return r.inner.PollEvent() }

// Flush implements engine.Engine.
func (r *Requester) Flush(now vtime.Time) { r.inner.Flush(now) }

// Vars implements engine.Inspector.
func (r *Requester) Vars(list []engine.Var) []engine.Var {
	una, nxt, _ := r.inner.Window()
	return append(r.inner.Vars(list),
		engine.Var{Name: "crt_rack", Value: int64(r.retrans.crtRACK), IsPSN: true},
		engine.Var{Name: "last_rack", Value: int64(r.retrans.lastRACK), IsPSN: true},
		engine.Var{Name: "retrans_queue", Value: int64(r.retrans.len(una, nxt))},
		engine.Var{Name: "racks", Value: r.racks},
		engine.Var{Name: "resent", Value: r.resent},
	)
}

var (
	_ engine.Requester = (*Requester)(nil)
	_ engine.Inspector = (*Requester)(nil)
	_ engine.Urgent    = (*Requester)(nil)
)
