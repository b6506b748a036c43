package gbn

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/timer"
)

// Requester turns work requests into request packets and recovers lost packets.
//
// It has three parts. Transmission builds the packet at the cursor and advances the cursor (PollTransmit).
// Acknowledgement advances una and completes requests (ack.go, read.go). Recovery moves the cursor back to una
// (retry.go); it builds no packets, so a retransmission is a transmission like any other.
//
// The fields used for every packet come first: with thousands of QPs, most of the cost of a packet is cache misses.
type Requester struct {
	failed      bool // error state: nothing is sent any more
	win         window
	retry       retry
	timer       timer.Timer // the transport timer, one per QP (IBTA 9.7.6.1.3)
	sq          sendQueue
	events      ring.Ring[engine.Event]
	mem         engine.Memory
	ackReqEvery int // qp.AckReqEvery, copied next to the other fields that every packet uses
	qp          engine.QP
	cfg         config

	ignored  int64   // packets dropped because they answer no outstanding request
	reserved int64   // ACKs and NAKs with a reserved syndrome
	word     [8]byte // buffer for the result of an atomic, in memory's byte order
}

// window is the range of unacknowledged PSNs: [una, max) is sent and not acknowledged, and nxt is transmitted next.
// While nxt < max, transmitted packets are retransmissions.
//
//	   acknowledged   | sent, to be sent again | retransmissions |  never sent
//	------------------+------------------------+-----------------+-------------
//	                 una      (in flight)     nxt   (pending)   max
//
// The names una and nxt are those of RFC 9293, where they count bytes. Here they are PSNs, compared as serial numbers.
//
// Invariant: una <= nxt <= max, except after a rewind with backto0, which can put nxt before una; and max-una < 2^23.
type window struct {
	una psn.PSN // oldest PSN not acknowledged
	nxt psn.PSN // PSN transmitted next
	max psn.PSN // PSN after the newest PSN ever sent
}

// holds reports whether p was sent and is not acknowledged. It compares distances from una, so that a PSN half the
// space away, which is neither before nor after una, is outside the window.
func (w *window) holds(p psn.PSN) bool {
	d := p.Sub(w.una)
	return d >= 0 && d < w.max.Sub(w.una)
}

func newRequester(qp engine.QP, cfg config, mem engine.Memory) *Requester {
	return &Requester{
		qp:          qp,
		cfg:         cfg,
		mem:         mem,
		ackReqEvery: qp.AckReqEvery,
		win:         window{una: qp.SendPSN, nxt: qp.SendPSN, max: qp.SendPSN},
		retry:       retry{Retry: rc.NewRetry(&qp)},
		timer:       timer.Timer{Period: qp.TransportTimer()},
	}
}

// Post implements engine.Requester. PSNs are assigned when the first packet of a request is built, so that the span of
// unacknowledged PSNs stays below 2^23 at any queue length (RC-PSN-004). All requests that have not completed, sent or
// not, count against QueueDepth (RC-WIN-001).
func (r *Requester) Post(_ vtime.Time, wr engine.WorkRequest) error {
	if r.failed {
		return engine.ErrQPState
	}
	packets, err := rc.CheckRequest(&r.qp, &wr)
	if err != nil {
		return fmt.Errorf("gbn: %w", err)
	}
	if r.sq.Len() == r.qp.QueueDepth {
		return engine.ErrQueueFull
	}
	r.sq.Push(wqe{WorkRequest: wr, packets: packets})
	return nil
}

// HandlePacket implements engine.Engine.
func (r *Requester) HandlePacket(now vtime.Time, p *roce.Packet) {
	// A response outside [una, max) is a ghost: a duplicate, a response overtaken by a later one that acknowledged the
	// same packets, or a forgery with a PSN never sent (IBTA 9.7.5; RC-ACK-004, NEG-ACK-001).
	if r.failed || !r.win.holds(p.PSN) {
		r.ignored++
		return
	}
	switch p.Opcode {
	case roce.Acknowledge:
		r.handleAcknowledge(now, p)
	case roce.ReadRespFirst, roce.ReadRespMiddle, roce.ReadRespLast, roce.ReadRespOnly:
		r.handleReadResponse(now, p)
	case roce.AtomicAck:
		r.handleAtomicAck(now, p)
	default:
		r.ignored++
	}
}

// PollTransmit implements engine.Engine. The first packet with AckReq starts the transport timer: before that packet
// the peer sends no answer, and the last packet of every message has AckReq (RC-ACK-005).
func (r *Requester) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	if r.failed || now < r.retry.Until || !r.mayTransmit() {
		return false
	}
	w := r.sq.At(r.sq.cur)
	r.build(p, w)
	if r.retry.nakRecovery && p.PSN == r.win.una {
		r.retry.since = now.Add(r.qp.Path.Rate.Time(p.WireLen(false)))
	}
	r.step(w)
	if p.AckReq {
		r.timer.Start(now)
	}
	return true
}

// mayTransmit reports whether a packet can be sent. It assigns PSNs to the next request when the cursor reaches that
// request.
func (r *Requester) mayTransmit() bool {
	q := &r.sq
	if q.cur == q.Len() {
		return false
	}
	if r.win.nxt != r.win.max {
		return true // a retransmission takes no new PSN
	}
	if q.cur < q.begun {
		return r.room(1) // the next packet of a message already begun
	}
	w := q.At(q.cur)
	n := 1
	if w.fetches() {
		// MaxRdAtomic limits the outstanding READs and atomics to the number that the peer can replay. Requests
		// after a READ that waits also wait, because requests are sent in posting order (IBTA 9.4.4).
		if q.fetching == r.qp.MaxRdAtomic {
			return false
		}
		n = w.packets
	}
	if !r.room(n) {
		return false
	}
	q.begin(r.win.nxt)
	return true
}

// room reports whether the unacknowledged span stays below 2^23, the limit of PSN comparison, with n more PSNs (IBTA
// 9.7.2).
func (r *Requester) room(n int) bool {
	return r.win.max.Sub(r.win.una)+n < psn.Half
}

// step moves the cursor past the packet just built.
func (r *Requester) step(w *wqe) {
	q, n := &r.sq, 1
	if w.Op == engine.OpRead {
		n = w.packets - q.pkt // a READ request takes the PSNs of all its responses (IBTA 9.7.1)
	}
	if q.pkt += n; q.pkt == w.packets {
		q.cur, q.pkt = q.cur+1, 0
	}
	fresh := r.win.nxt == r.win.max
	r.win.nxt = r.win.nxt.Add(n)
	if fresh {
		r.win.max = r.win.nxt
	}
}

// HandleTimer implements engine.Engine. At the end of an RNR wait only the deadline is cleared; PollTransmit continues
// at the cursor position that handleRNR set.
func (r *Requester) HandleTimer(now vtime.Time) {
	r.retry.Expire(now)
	if r.timer.Expire(now) {
		r.handleTimeout(now)
	}
}

// PollTimer implements engine.Engine: the end of an RNR wait, or the transport timer, which does not run during one.
func (r *Requester) PollTimer() (vtime.Time, bool) {
	if r.retry.Until != 0 {
		return r.retry.Until, true
	}
	return r.timer.Deadline(), r.timer.Running()
}

// PollEvent implements engine.Engine.
func (r *Requester) PollEvent() (engine.Event, bool) { return r.events.Pop() }

// Flush implements engine.Engine. The caller has completed the failed request, if any; the remaining requests complete
// in order, each exactly once (RC-CQE-004).
func (r *Requester) Flush(vtime.Time) {
	r.failed = true
	r.timer.Stop()
	r.retry.Until = 0
	// Requests without PSNs get the PSNs that they would have had, so that their completions are in PSN order too.
	for next := r.win.max; r.sq.Len() > 0; {
		if r.sq.begun == 0 {
			r.sq.begin(next)
		}
		next = r.sq.At(0).last.Next()
		r.complete(engine.StatusFlushed)
	}
}

// complete ends the oldest request. An error is signalled even if the request is unsignalled (IBTA 10.7.3).
func (r *Requester) complete(s engine.Status) {
	w := r.sq.At(0)
	if !w.Unsignal || s != engine.StatusSuccess {
		r.events.Push(engine.Event{Kind: engine.CQE, Status: s, Op: w.Op, ID: w.ID, PSN: w.last})
	}
	r.sq.finish()
}

// fail ends the oldest request with an error and flushes the others (IBTA 10.3.1).
func (r *Requester) fail(now vtime.Time, s engine.Status) {
	r.complete(s)
	r.events.Push(engine.Event{Kind: engine.Fatal, Status: s, PSN: r.win.una})
	r.Flush(now)
}

// Vars implements engine.Inspector.
func (r *Requester) Vars(list []engine.Var) []engine.Var {
	return append(list,
		engine.Var{Name: "snd_una", Value: int64(r.win.una), IsPSN: true},
		engine.Var{Name: "snd_nxt", Value: int64(r.win.nxt), IsPSN: true},
		engine.Var{Name: "snd_max", Value: int64(r.win.max), IsPSN: true},
		engine.Var{Name: "outstanding", Value: int64(r.sq.Len())},
		engine.Var{Name: "rd_atomic", Value: int64(r.sq.fetching)},
		engine.Var{Name: "retry", Value: int64(r.retry.Left)},
		engine.Var{Name: "rnr_retry", Value: int64(r.retry.RNRLeft)},
		engine.Var{Name: "failed", Value: engine.Flag(r.failed)},
		engine.Var{Name: "ignored", Value: r.ignored},
		engine.Var{Name: "reserved", Value: r.reserved})
}

var (
	_ engine.Requester = (*Requester)(nil)
	_ engine.Inspector = (*Requester)(nil)
)
