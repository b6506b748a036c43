package drive

import (
	"github.com/rdma-gauntlet/gauntlet/harness/drive/cm"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// engines runs the halves of all QPs: it gives them packets, time and turns to send, takes what they tell, and hands
// that to the parts of the endpoint that it concerns.
type engines struct {
	schedule
	out     *reports
	connect *cm.Connector
	work    *poster
	script  *script
	turns   *turns
	memory  *verifier
}

// start lets connection i begin its work.
func (r *engines) start(i int) {
	r.work.pump(i)
	r.drain(i, requester)
	r.drain(i, responder)
	r.converse()
}

// receive hands a packet to the half of connection i that it is for.
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

// receiveIP hands a packet without BTH to connection i, whose halves share the state of one connection.
func (r *engines) receiveIP(i int, p *roce.Packet) {
	q := &r.qps[i]
	q.half[responder].HandlePacket(r.out.now, p)
	q.want = [2]bool{true, true}
	r.drain(i, responder)
	r.drain(i, requester)
}

// transmit fills p with the next packet of the QP whose turn it is.
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

// poll asks the responder first: acknowledgements are short and let the peer go on. After one of them the turn goes on,
// with the requester; so does the next after a READ response, which is not short.
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
			r.drain(i, h) // queues the QP again, behind the others
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

// isAnswer reports a packet that answers without data.
func isAnswer(o roce.Opcode) bool { return o.IsReadAck() || o.IsResponse() && !o.IsReadResponse() }

// wake runs everything that is due. An engine whose timer does not move on is woken once, not for ever.
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

// post posts everything of the script that is due.
func (r *engines) post() {
	for r.script.next() <= r.out.now {
		i, h := r.script.post()
		r.drain(i, h)
	}
}

// converse lets an application that takes turns do what it can after something has happened.
func (r *engines) converse() {
	if !r.turns.Taken() || !r.connect.Open(0) {
		return
	}
	r.turns.play()
	r.drain(0, requester)
}

// drain takes what one half of a QP has to say after it was called, and notes what it wants: to send, and to be woken.
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

// events takes what a half has to tell. Acting on one may bring another, as a post that fails at once does.
func (r *engines) events(i, h int) {
	for half := r.qps[i].half[h]; ; {
		ev, ok := half.PollEvent()
		if !ok {
			return
		}
		r.handle(i, &ev)
	}
}

// handle reports one event of an engine and hands it to the parts that it concerns.
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

// completed accounts for one completion, and posts what it made room for.
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

// fail flushes both halves of a QP when one has failed, and hears what that completed.
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

// arm notes when a half wants to be woken.
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

// share is which part of the counted work is done, 0 to 1; 1 when there is none.
func (r *engines) share() float64 {
	done, total := r.work.counted()
	done, total = done+r.turns.rounds, total+r.turns.Count
	if total == 0 {
		return 1
	}
	return float64(done) / float64(total)
}
