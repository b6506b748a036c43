package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/timer"
)

// Requester turns work requests into request packets, and processes READ responses.
//
// It is the sending side for requests (out) and the receiving side for READ responses (in), which have their own PSN
// space: "R-READ (remote read), similar to the WRITE operation, is scheduled on the responder" (FaSR IV-D). The fields
// used for every packet come first, as in package gbn.
type Requester struct {
	failed bool // error state: nothing is sent any more
	retry  rc.Retry
	timer  timer.Timer // the RTO, one per QP
	sq     rc.SendQueue
	out    sender
	mem    engine.Memory
	say    answers // answers to READ responses to be sent
	events ring.Ring[engine.Event]
	qp     engine.QP
	nic    *nic
	in     receiver
	store  store   // out-of-order READ responses
	stamps stamps  // deadlines of unacknowledged READ requests
	placed psn.PSN // PSN of the READ response that is placed in memory next: all before it are placed

	ignored int64 // packets dropped because they answer no outstanding request
}

func newRequester(qp engine.QP, q *nic, mem engine.Memory) *Requester {
	return &Requester{
		qp: qp, mem: mem, nic: q,
		sq:     rc.NewSendQueue(qp.SendPSN),
		out:    q.newSender(requestSender, qp.SendPSN),
		in:     q.newReceiver(responseReceiver, qp.SendPSN),
		store:  q.newStore(),
		say:    q.newAnswers(),
		retry:  rc.NewRetry(&qp),
		timer:  timer.Timer{Period: qp.RTO},
		stamps: stamps{period: qp.RTO},
		placed: qp.SendPSN,
	}
}

// Post implements engine.Requester. PSNs are assigned when the first packet of the request is built.
func (r *Requester) Post(_ vtime.Time, wr engine.WorkRequest) error {
	if r.failed {
		return engine.ErrQPState
	}
	packets, err := checkRequest(&r.qp, &wr)
	if err != nil {
		return err
	}
	if r.sq.Len() == r.qp.QueueDepth {
		return engine.ErrQueueFull
	}
	r.sq.Push(rc.Request{WorkRequest: wr, Packets: packets})
	return nil
}

// HandlePacket implements engine.Engine.
func (r *Requester) HandlePacket(now vtime.Time, p *roce.Packet) {
	switch {
	case r.failed:
		r.ignored++
	case p.Opcode == roce.Acknowledge, accepts(p.Opcode) && p.Opcode.Layout()&roce.LayoutSACKETH != 0:
		r.handleAnswer(now, p)
	case p.Opcode >= roce.FReadRespFirst && p.Opcode <= roce.FReadRespOnly:
		r.handleReadResponse(now, p)
	default:
		r.ignored++
	}
}

// PollTransmit implements engine.Engine: answers first, because the peer waits for them; then retransmissions, and then
// new packets. The paper does not order the last two. In this order the requester itself never sends a packet before an
// earlier retransmission, which the receiver would take for a loss and answer with an FNACK.
func (r *Requester) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	if r.failed {
		return false
	}
	if x, ok := r.say.queue.Pop(); ok {
		*p = x.readPacket(&r.qp)
		return true
	}
	again := r.out.retx.Len() > 0
	switch {
	case now < r.retry.Until:
		return false
	case again:
		r.transmitAgain(p)
	case !r.transmitNew(p):
		return false
	}
	// The timer runs from the first packet that draws an answer: a packet with AckReq, or a retransmission, which fills
	// a gap or is a duplicate.
	if again || p.AckReq {
		r.timer.Start(now)
	}
	if p.Opcode == roce.FReadRequest {
		r.stamps.stamp(now, p.PSN)
	}
	return true
}

// Urgent implements engine.Urgent: "Upon receiving the SACK, the sender will enter the loss recovery state and
// immediately retransmit" (FaSR III-B2), and the send queue sends "packets with priority" (IV-A).
func (r *Requester) Urgent() bool { return !r.failed && r.retry.Until == 0 && r.out.retx.Len() > 0 }

func (r *Requester) transmitAgain(p *roce.Packet) {
	at := r.out.retx.next()
	r.build(p, r.sq.Owner(at), at)
}

// transmitNew fills p with the next packet never sent, and reports false if none can be sent.
func (r *Requester) transmitNew(p *roce.Packet) bool {
	if !r.out.room() {
		return false
	}
	w := r.sq.Next(r.out.next, r.in.next, r.qp.MaxRdAtomic)
	if w == nil {
		return false
	}
	r.build(p, w, r.out.next)
	r.out.next = r.out.next.Next()
	return true
}

// PollEvent implements engine.Engine.
func (r *Requester) PollEvent() (engine.Event, bool) { return r.events.Pop() }

// Flush implements engine.Engine: the remaining requests complete in order.
func (r *Requester) Flush(vtime.Time) {
	r.failed = true
	r.timer.Stop()
	r.say.clear()
	r.store.clear()
	r.stamps.Clear()
	r.retry.Until = 0
	if r.out.sr != nil {
		r.out.leave()
	}
	if r.in.sr != nil {
		r.in.leave()
	}
	r.sq.Flush(r.out.next, &r.events)
}

// fail ends the oldest request with an error and flushes the others (IBTA 10.3.1).
func (r *Requester) fail(now vtime.Time, s engine.Status) {
	r.sq.Complete(s, &r.events)
	r.events.Push(engine.Event{Kind: engine.Fatal, Status: s, PSN: r.out.unack})
	r.Flush(now)
}

// Vars implements engine.Inspector. The names are the paper's; names with the prefix "rd_" belong to READ responses. No
// name occurs in both halves.
func (r *Requester) Vars(list []engine.Var) []engine.Var {
	list = append(list,
		engine.Var{Name: "unack", Value: int64(r.out.unack), IsPSN: true},
		engine.Var{Name: "snd_nxt", Value: int64(r.out.next), IsPSN: true})
	list = sndNames.Rename(r.out.vars(list))
	list = append(list, engine.Var{Name: "rd_rcv_nxt", Value: int64(r.in.next), IsPSN: true})
	list = rdNames.Rename(r.in.vars(list))
	return append(list,
		engine.Var{Name: "sr_unit", Value: int64(r.nic.pointer)},
		engine.Var{Name: "outstanding", Value: int64(r.sq.Len())},
		engine.Var{Name: "retry", Value: int64(r.retry.Left)},
		engine.Var{Name: "rto_below_rtt", Value: engine.Flag(r.qp.RTO > 0 && r.qp.RTO < r.nic.host.cfg.rtt)},
		engine.Var{Name: "ignored", Value: r.ignored})
}

var (
	_ engine.Requester = (*Requester)(nil)
	_ engine.Inspector = (*Requester)(nil)
	_ engine.Urgent    = (*Requester)(nil)
)
