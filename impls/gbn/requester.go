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

// Requester turns work requests into request packets and recovers what the network loses.
//
// Its life is three loops. Transmission takes the packet under the cursor and moves the cursor on (PollTransmit).
// Acknowledgement moves una and completes requests (ack.go, read.go). Recovery moves the cursor back to una (retry.go);
// it never makes a packet itself, so a retransmission is a transmission like any other.
//
// What every packet needs comes first: where thousands of QPs take turns, a packet costs what the cache lines do that
// it finds outside the caches.
type Requester struct {
	failed bool // error state: silent for ever
	win    window
	retry  retry
	timer  timer.Timer // the transport timer, one per QP (IBTA 9.7.6.1.3)
	sq     sendQueue
	events ring.Ring[engine.Event]
	mem    engine.Memory
	every  int // qp.AckReqEvery, which lies far from what else is needed of qp
	qp     engine.QP
	cfg    config

	ignored  int64   // responses that fit nothing outstanding
	reserved int64   // responses with a reserved syndrome
	word     [8]byte // the result of an atomic on its way to memory
}

// window says which PSNs are out: [una, max) was sent and is not acknowledged, and transmission goes on at nxt. While
// nxt is before max, packets are retransmissions.
//
//	   acknowledged   | sent, to be sent again | retransmissions |  never sent
//	------------------+------------------------+-----------------+-------------
//	                 una      (in flight)     nxt   (pending)   max
//
// The names una and nxt are those of RFC 9293, where they count bytes. Here they are PSNs, so "before" is serial.
type window struct {
	una, nxt, max psn.PSN
}

// holds reports whether p was sent and is not acknowledged. The distance is compared, so that a PSN half the space
// away, which is neither before nor after, stays outside.
func (w *window) holds(p psn.PSN) bool {
	d := p.Sub(w.una)
	return d >= 0 && d < w.max.Sub(w.una)
}

func newRequester(qp engine.QP, cfg config, mem engine.Memory) *Requester {
	return &Requester{
		qp:    qp,
		cfg:   cfg,
		mem:   mem,
		every: qp.AckReqEvery,
		win:   window{una: qp.SendPSN, nxt: qp.SendPSN, max: qp.SendPSN},
		retry: retry{Retry: rc.NewRetry(&qp)},
		timer: timer.Timer{Period: qp.TransportTimer()},
	}
}

// Post implements engine.Requester. The request gets no PSNs yet: they are given out in the order of transmission, and
// the span of those that are out stays below 2^23 however much is queued (RC-PSN-004). What counts against QueueDepth
// is what has not completed, sent or not (RC-WIN-001).
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
	// A response is about a PSN that is sent and not acknowledged, or it is a ghost: a duplicate, one that is older
	// than what acknowledged the same, or a forgery from the future (IBTA 9.7.5; RC-ACK-004, NEG-ACK-001).
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

// PollTransmit implements engine.Engine. The transport timer runs from the first packet that asks for an answer: before
// that none can come, and after it the last packet of the message always asks (RC-ACK-005).
func (r *Requester) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	if r.failed || now < r.retry.Until || !r.mayTransmit() {
		return false
	}
	w := r.sq.At(r.sq.cur)
	r.build(p, w)
	if r.retry.going && p.PSN == r.win.una {
		r.retry.since = now.Add(r.qp.Path.Rate.Time(p.WireLen(false)))
	}
	r.step(w)
	if p.AckReq {
		r.timer.Start(now)
	}
	return true
}

// mayTransmit reports whether a packet can go, and gives the next request its PSNs when its turn has come.
func (r *Requester) mayTransmit() bool {
	q := &r.sq
	if q.cur == q.Len() {
		return false
	}
	if r.win.nxt != r.win.max {
		return true // a retransmission takes no new PSN
	}
	if q.cur < q.begun {
		return r.room(1) // the next packet of a message that is on its way
	}
	w := q.At(q.cur)
	n := 1
	if w.fetches() {
		// READs and atomics outstanding are limited by what the peer can replay; requests behind one that has to
		// wait do too, because requests go out in posting order (IBTA 9.4.4).
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

// room reports whether n more PSNs keep the unacknowledged span below 2^23, where PSN order ends (IBTA 9.7.2).
func (r *Requester) room(n int) bool {
	return r.win.max.Sub(r.win.una)+n < psn.Half
}

// step moves the cursor behind the packet that was made.
func (r *Requester) step(w *wqe) {
	q, n := &r.sq, 1
	if w.Op == engine.OpRead {
		n = w.packets - q.pkt // a READ request stands for all its responses (IBTA 9.7.1)
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

// HandleTimer implements engine.Engine. The end of an RNR wait needs no action but to be noticed; PollTransmit then
// finds the cursor where handleRNR left it.
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

// Flush implements engine.Engine. The caller has completed the request that failed, if one did; what is left completes
// in order, none is lost and none completes twice (RC-CQE-004).
func (r *Requester) Flush(vtime.Time) {
	r.failed = true
	r.timer.Stop()
	r.retry.Until = 0
	// Requests that never began are given the PSNs they would have had, so that their completions are in order too.
	for next := r.win.max; r.sq.Len() > 0; {
		if r.sq.begun == 0 {
			r.sq.begin(next)
		}
		next = r.sq.At(0).last.Next()
		r.complete(engine.StatusFlushed)
	}
}

// complete ends the oldest request. Errors are signalled even when the request asked for silence (IBTA 10.7.3).
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
