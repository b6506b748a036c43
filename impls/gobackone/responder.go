package gobackone

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// Responder is go-back-N's with a reorder buffer before it. Its ePSN is the paper's ReceiverNextExpectedSeq. A kept
// packet is passed to go-back-N at its turn, so memory, completions and the MSN change in order only, and the paper's
// "serial number" of WQEs, for placing data at once (IV-C1), is not needed.
type Responder struct {
	inner *gbn.Responder
	max   int // max_ooo_psn
	early reorder
	racks ring.Ring[rack]

	dropped  int64 // packets too early to be kept
	released roce.Packet
}

// rack is a RACK that waits for the link: "a user-defined packet header that carries the sequence number of the
// currently received packet and the sequence number of the expected packet" (IV-B).
type rack struct{ expected, seq psn.PSN }

// rackLimit bounds the RACKs that wait. The requester infers losses from the distance between neighbours, so a RACK may
// replace an older one without loss of information.
const rackLimit = 1 << 12

func newResponder(inner *gbn.Responder, qp *engine.QP, cfg config) *Responder {
	return &Responder{inner: inner, max: cfg.maxOOO, early: reorder{bytes: payloads{size: qp.MTU}}}
}

// PostReceive implements engine.Responder.
func (r *Responder) PostReceive(now vtime.Time, rr engine.ReceiveRequest) error {
	return r.inner.PostReceive(now, rr)
}

// HandlePacket implements engine.Engine. "If the values are equal, the function updates ReceiverNextExpectedSeq … If
// the incoming seq is less than the expected packet sequence number, it indicates that a rearrival packet has been
// received … If the sequence number of the incoming packet is greater …, it indicates that a packet arrived out of
// order." (IV-C1) Go-back-N handles the first two.
func (r *Responder) HandlePacket(now vtime.Time, p *roce.Packet) {
	expected, alive := r.inner.Expected()
	ahead := p.PSN.Sub(expected)
	if alive && ahead > 0 && gbn.Serves(p.Opcode) {
		r.keep(p, expected, ahead)
		return
	}
	r.inner.HandlePacket(now, p)
	if ahead == 0 && r.early.n > 0 {
		r.release(now, p)
	}
}

// keep stores an out-of-order packet and queues a RACK for it, also for a duplicate: "The receiver does not take the
// operation of directly discarding the out-of-order packet, but cached in its own buffer. At the same time, the
// receiver will send a packet loss signal" (IV-B). "The array needs to be set an upper limit to prevent unrestricted
// buffer allocation" (IV-D): a packet beyond the limit is dropped without a RACK, because a RACK would tell the
// requester that the packet has arrived.
func (r *Responder) keep(p *roce.Packet, expected psn.PSN, ahead int) {
	if ahead >= r.max {
		r.dropped++
		return
	}
	r.early.put(p, ahead)
	if r.racks.Len() == rackLimit {
		*r.racks.At(rackLimit - 1) = rack{expected, p.PSN}
		return
	}
	r.racks.Push(rack{expected, p.PSN})
}

// release follows a packet with the expected PSN, during a recovery: it hands the packets that waited for it to
// go-back-N, and acknowledges the whole run at once (GB1-BUF-003). It stops at the next missing packet, or at one that
// is refused for want of a receive; that packet is retransmitted after the wait, as in go-back-N.
func (r *Responder) release(now vtime.Time, p *roce.Packet) {
	at, last := p.PSN, p.Opcode
	for {
		expected, alive := r.inner.Expected()
		if !alive || expected == at {
			break
		}
		r.early.drop(at.Next(), expected)
		if at = expected; !r.early.take(at, &r.released) {
			break
		}
		last = r.released.Opcode
		r.inner.HandlePacket(now, &r.released)
	}
	if expected, alive := r.inner.Expected(); alive && expected != p.PSN && !last.IsRead() && !last.IsAtomic() {
		r.inner.AcknowledgeNow() // a READ or atomic is answered with its data
	}
}

// PollTransmit implements engine.Engine: a RACK "is added to the high-priority send queue" (IV-C2), before ACKs, READ
// data and NAKs.
func (r *Responder) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	if r.racks.Len() == 0 {
		return r.inner.PollTransmit(now, p)
	}
	k, _ := r.racks.Pop()
	*p = r.inner.Respond(roce.RACK, k.expected)
	p.AETH.Syndrome = roce.SyndromePSNSeqErr
	p.SACK.PSN = k.seq
	return true
}

// HandleTimer implements engine.Engine.
func (r *Responder) HandleTimer(now vtime.Time) { r.inner.HandleTimer(now) }

// PollTimer implements engine.Engine.
func (r *Responder) PollTimer() (vtime.Time, bool) { return r.inner.PollTimer() }

// PollEvent implements engine.Engine. A QP in the error state is silent, RACKs included.
func (r *Responder) PollEvent() (engine.Event, bool) {
	ev, ok := r.inner.PollEvent()
	if ok && ev.Kind == engine.Fatal {
		r.hush()
	}
	return ev, ok
}

// Flush implements engine.Engine.
func (r *Responder) Flush(now vtime.Time) {
	r.inner.Flush(now)
	r.hush()
}

// hush forgets the RACKs that wait.
func (r *Responder) hush() {
	for r.racks.Len() > 0 {
		r.racks.Drop()
	}
}

// Vars implements engine.Inspector.
func (r *Responder) Vars(list []engine.Var) []engine.Var {
	return append(r.inner.Vars(list),
		engine.Var{Name: "kept", Value: int64(r.early.n)},
		engine.Var{Name: "too_early", Value: r.dropped},
	)
}

var (
	_ engine.Responder = (*Responder)(nil)
	_ engine.Inspector = (*Responder)(nil)
)
