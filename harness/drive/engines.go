package drive

import (
	"github.com/rdma-gauntlet/gauntlet/harness/drive/cm"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// engines runs the halves of all QPs: it passes packets and time to them, lets them send in turn, and passes their
// events to the other parts of the endpoint.
type engines struct {
	schedule
	out     *reports
	connect *cm.Connector
	work    *poster
	script  *script
	turns   *turns
	memory  *verifier
}

// start begins the work of connection i.
func (r *engines) start(i int) {
	r.work.pump(i)
	r.drain(i, requester)
	r.drain(i, responder)
	r.converse()
}

// receive passes a packet to the requester or responder of connection i.
func (r *engines) receive(i int, p *roce.Packet) {
	h := responder
	if p.ToRequester() {
		h = requester
	}
	q := &r.qps[i]
	q.half[h].HandlePacket(r.out.now, p)
	q.want[h] = true
	r.drain(i, h)
	r.converse()
}

// receiveIP passes a packet without BTH to connection i, whose halves share the state of one connection.
func (r *engines) receiveIP(i int, p *roce.Packet) {
	q := &r.qps[i]
	q.half[responder].HandlePacket(r.out.now, p)
	q.want = [2]bool{true, true}
	r.drain(i, responder)
	r.drain(i, requester)
}

// transmit fills p with the next packet, of the QP that the schedule selects.
func (r *engines) transmit(p *roce.Packet) (conn int, ok bool) {
	for {
		i, onward, any := r.next()
		if !any {
			return 0, false
		}
		if r.poll(i, onward, p) {
			return i, true
		}
	}
}

// poll fills p with a packet of QP i and reports whether there was one. It polls the responder first, because
// acknowledgements are short and let the peer continue. After an acknowledgement the turn of the QP continues with the
// requester. After a READ response, which is not short, the next turn of the QP begins with the requester.
func (r *engines) poll(i int, onward bool, p *roce.Packet) bool {
	q := &r.qps[i]
	if q.paced && q.pacing.notification(&q.attr, p) {
		r.enqueue(i)
		return true
	}
	now := r.out.now
	h := responder
	answered := q.answered
	if answered || onward {
		h = requester
	}
	q.answered = false
	for range q.half {
		switch {
		case !q.want[h]:
		case q.control().waits(now, h, answered):
			r.timers.atMost(i, q.pacing.next)
			q.answered = answered
		default:
			sent := q.half[h].PollTransmit(now, p)
			q.want[h] = sent
			r.drain(i, h) // queues the QP again, after the others
			if sent {
				q.answered = h == responder && p.Opcode.IsReadResponse()
				q.control().sent(now, p)
				if !onward && isAnswer(p.Opcode) && q.want[requester] {
					r.goOn(i)
				}
				return true
			}
		}
		h = 1 - h
	}
	return false
}

// isAnswer reports whether packets with opcode o are answers without READ data.
func isAnswer(o roce.Opcode) bool { return o.IsReadAck() || o.IsResponse() && !o.IsReadResponse() }

// wake runs all timers and posts that are due. A QP whose deadline does not advance is woken once per call, so that the
// loop ends.
func (r *engines) wake() {
	now := r.out.now
	r.soonest = now + 1
	defer func() { r.soonest = 0 }()
	for r.timers.first() <= now {
		i := r.timers.pop()
		q := &r.qps[i]
		for h := range q.half {
			q.half[h].HandleTimer(now)
			q.want[h], q.due[h] = true, vtime.Never
		}
		if q.arrives <= now {
			r.work.pump(i)
		}
		r.drain(i, requester)
		r.drain(i, responder)
	}
	r.post()
}

// post posts all requests of the script that are due.
func (r *engines) post() {
	for r.script.next() <= r.out.now {
		i, h := r.script.post()
		r.drain(i, h)
	}
}

// converse runs the application that takes turns, if there is one, after an event.
func (r *engines) converse() {
	if !r.turns.Taken() || !r.connect.Open(0) {
		return
	}
	r.turns.play()
	r.drain(0, requester)
}

// drain processes the events of one half of a QP after a call into it, queues the QP if it may have packets to send,
// and records its deadline.
func (r *engines) drain(i, h int) {
	r.events(i, h)
	if r.out.detail {
		r.out.vars(i, &r.qps[i])
	}
	if r.connect.Open(i) && r.qps[i].wants() {
		r.enqueue(i)
	}
	r.arm(i, h)
}

// events handles the events of a half until there are none. Handling an event may cause another, such as a post that
// fails at once.
func (r *engines) events(i, h int) {
	for half := r.qps[i].half[h]; ; {
		ev, ok := half.PollEvent()
		if !ok {
			return
		}
		r.handle(i, &ev)
	}
}

// handle reports one event of an engine and passes it to the parts of the endpoint that act on it.
func (r *engines) handle(i int, ev *engine.Event) {
	switch ev.Kind {
	case engine.CQE:
		r.out.engine(i, trace.CQE, ev)
		r.completed(i, ev)
		r.disconnect()
	case engine.ReceiveCQE:
		r.out.engine(i, trace.Recv, ev)
		r.turns.listened(ev)
		r.work.replenish(i, ev)
		r.work.hear(i, ev)
	case engine.Declared:
		r.memory.declare(i, ev)
		r.out.engine(i, trace.Declared, ev)
	case engine.Lost:
		r.out.engine(i, trace.Lost, ev)
	case engine.Refused:
		r.out.engine(i, trace.Refused, ev)
	case engine.Timeout:
		r.out.engine(i, trace.Timeout, ev)
	case engine.Fatal:
		r.out.engine(i, trace.Fatal, ev)
		r.fail(i)
	}
}

// completed counts one completion, and posts further requests if the queue has room for them.
func (r *engines) completed(i int, ev *engine.Event) {
	switch {
	case r.turns.Taken():
		r.work.pending--
		r.turns.turned(ev)
	case r.work.completed(i, ev):
	default:
		if r.script.completed(i, ev) {
			r.work.pending--
		}
		r.work.pump(i)
	}
}

// disconnect ends the connections when all work of the side that ends them is done.
func (r *engines) disconnect() {
	if r.connect.Ends() && r.idle() && (r.share() == 1 || r.allFailed()) {
		r.connect.Leave(r.out.now)
	}
}

func (r *engines) allFailed() bool {
	for i := range r.qps {
		if !r.qps[i].failed {
			return false
		}
	}
	return true
}

// fail flushes both halves of a QP after one has failed, and handles the completions of the flush.
func (r *engines) fail(i int) {
	q := &r.qps[i]
	if q.failed {
		return
	}
	q.failed = true
	r.work.await(q, vtime.Never)
	for h := range q.half {
		q.half[h].Flush(r.out.now)
	}
	for h := range q.half {
		r.events(i, h)
	}
	for h := range q.half {
		r.arm(i, h)
	}
}

// arm records the deadline of a half.
func (r *engines) arm(i, h int) {
	q := &r.qps[i]
	at, ok := q.half[h].PollTimer()
	if !ok {
		at = vtime.Never
	}
	q.due[h] = at
	if r.out.detail && h == requester && at != q.armed {
		q.armed = at
		r.out.timer(i, at)
	}
	r.schedule.arm(i)
}

// idle reports whether all posted work has completed, no more will be posted, and no connection is being set up or
// ended.
func (r *engines) idle() bool {
	return r.work.pending == 0 && r.work.awaiting == 0 && !r.connect.Waiting() && r.script.next() == vtime.Never &&
		(r.turns.over() || r.qps[0].failed)
}

// share returns the fraction of the counted work that is done, 0 to 1; 1 if there is no counted work.
func (r *engines) share() float64 {
	done, total := r.work.counted()
	done, total = done+r.turns.rounds, total+r.turns.Count
	if total == 0 {
		return 1
	}
	return float64(done) / float64(total)
}
