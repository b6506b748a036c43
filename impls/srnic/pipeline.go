package srnic

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
	"github.com/rdma-gauntlet/gauntlet/impls/irn"
)

// pipeline is the receive pipeline of a NIC, through which the packets of all its QPs pass in the order of their
// arrival. A packet occupies it for the time that its bytes take at the rate of the pipeline, and for its bitmap
// queries: "Every time the pipeline waits for the result of a software SR query, the backlog of packets waiting to be
// processed will also increase" (FaSR II-A).
//
// No driver knows of it. A half whose packets wait asks for a timer (due), and whichever half is called first takes all
// packets out whose time has come; the others are called at that time, too, because none asks for a later one.
type pipeline struct {
	cfg  pipeConfig
	free vtime.Time // when it takes the next packet
	wait queue

	queued  vtime.Duration // time that all packets so far take but for their queries
	queries int64
	stalled vtime.Duration
	dropped int64
}

// overhead is the bytes of a packet on the line outside its transport headers and payload: preamble, Ethernet, IPv4,
// UDP, ICRC, FCS and gap.
const overhead = 8 + 14 + 20 + 8 + 4 + 4 + 12

// time returns the time that a packet occupies the pipeline, without queries.
func (l *pipeline) time(p *roce.Packet) vtime.Duration {
	if l.cfg.rate == 0 {
		return 0
	}
	return l.cfg.rate.Time(p.TransportLen() + overhead)
}

// receive takes a packet for h: through the pipeline at once when it is idle, else into the buffer.
func (l *pipeline) receive(now vtime.Time, h *half, p *roce.Packet) {
	l.advance(now)
	switch {
	case l.wait.n == 0 && l.free <= now:
		l.pass(now, now, h, p)
	case l.wait.n == l.cfg.buffer:
		l.dropped++
		return
	default:
		l.wait.push(p, h, l.queued)
		h.turns.Push(l.queued)
	}
	l.queued += l.time(p)
}

// advance passes on the waiting packets that are due at now.
func (l *pipeline) advance(now vtime.Time) {
	for l.wait.n > 0 && l.free <= now {
		x := l.wait.at(0)
		x.to.turns.Drop()
		l.pass(now, l.free, x.to, &x.pkt)
		l.wait.drop()
	}
}

// pass hands a packet over at start, and stalls for the queries that it brings about. Its effects wait with the
// pipeline.
func (l *pipeline) pass(now, start vtime.Time, h *half, p *roce.Packet) {
	before := h.inner.Lookups()
	h.inner.HandlePacket(now, p)
	after := h.inner.Lookups()
	n := (after.Filled-before.Filled)*int64(l.cfg.queries) + after.Collected - before.Collected
	stall := vtime.Duration(n) * l.cfg.tq
	l.queries += n
	l.stalled += stall
	h.queries += n
	h.stalled += stall
	l.free = start.Add(l.time(p) + stall)
	if stall > 0 {
		h.until = max(h.until, start.Add(stall))
	}
}

// due returns when the first packet that waits for h may pass at the earliest: later when one before it brings queries.
func (l *pipeline) due(h *half) vtime.Time {
	if h.turns.Len() == 0 {
		return vtime.Never
	}
	return l.free.Add(*h.turns.At(0) - l.wait.at(0).queued)
}

// The names of the variables of each half.
var (
	reqNames  = engine.Prefixed("req_", (&half{}).vars(nil))
	respNames = engine.Prefixed("resp_", (&half{}).vars(nil))
)

// vars appends the time that the packets of the half took in the pipeline, in picoseconds.
func (h *half) vars(list []engine.Var) []engine.Var {
	return append(list,
		engine.Var{Name: "bitmap_queries", Value: h.queries},
		engine.Var{Name: "stalled_ps", Value: int64(h.stalled)})
}

// vars appends the state of the pipeline, which is the same for all QPs of an endpoint.
func (l *pipeline) vars(list []engine.Var) []engine.Var {
	return append(list,
		engine.Var{Name: "pipeline_queries", Value: l.queries},
		engine.Var{Name: "pipeline_stalled_ps", Value: int64(l.stalled)},
		engine.Var{Name: "pipeline_dropped", Value: l.dropped},
		engine.Var{Name: "qp_sr_bytes", Value: StateBytes})
}

// inner is a half of IRN's.
type inner interface {
	engine.Engine
	engine.Inspector
	Lookups() irn.Lookups
}

// half is one half of a QP behind the pipeline.
type half struct {
	inner inner
	pipe  *pipeline
	turns ring.Ring[vtime.Duration] // per waiting packet: the value of pipeline.queued when it arrived
	// end of the current query, before which nothing is sent and no event reported; zero if there is none
	until vtime.Time

	queries int64 // that its packets brought about
	stalled vtime.Duration
}

// HandlePacket implements engine.Engine.
func (h *half) HandlePacket(now vtime.Time, p *roce.Packet) { h.pipe.receive(now, h, p) }

// HandleTimer implements engine.Engine.
func (h *half) HandleTimer(now vtime.Time) {
	h.pipe.advance(now)
	if h.until <= now {
		h.until = 0
	}
	h.inner.HandleTimer(now)
}

// PollTimer implements engine.Engine: the timer of the half, the end of a query, or the turn of a packet that waits.
func (h *half) PollTimer() (vtime.Time, bool) {
	at, ok := h.inner.PollTimer()
	if !ok {
		at = vtime.Never
	}
	if h.until != 0 {
		at = min(at, h.until)
	}
	at = min(at, h.pipe.due(h))
	return at, at != vtime.Never
}

// PollTransmit implements engine.Engine.
func (h *half) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	return h.until <= now && h.inner.PollTransmit(now, p)
}

// PollEvent implements engine.Engine. Events of a packet with a query are reported at the end of the query.
func (h *half) PollEvent() (engine.Event, bool) {
	if h.until != 0 {
		return engine.Event{}, false
	}
	return h.inner.PollEvent()
}

// Flush implements engine.Engine.
func (h *half) Flush(now vtime.Time) {
	h.until = 0
	h.inner.Flush(now)
}

// Requester is the requester of IRN with the pipeline before it.
type Requester struct {
	half
	post engine.Requester
}

// Post implements engine.Requester.
func (r *Requester) Post(now vtime.Time, wr engine.WorkRequest) error { return r.post.Post(now, wr) }

// Vars implements engine.Inspector: those of IRN, and the cost of the answers.
func (r *Requester) Vars(list []engine.Var) []engine.Var {
	return reqNames.Rename(r.vars(r.inner.Vars(list)))
}

// Responder is the responder of IRN with the pipeline before it.
type Responder struct {
	half
	post engine.Responder
}

// PostReceive implements engine.Responder.
func (r *Responder) PostReceive(now vtime.Time, rr engine.ReceiveRequest) error {
	return r.post.PostReceive(now, rr)
}

// Vars implements engine.Inspector: those of IRN, the cost of the requests, and those of the pipeline.
func (r *Responder) Vars(list []engine.Var) []engine.Var {
	return r.pipe.vars(respNames.Rename(r.vars(r.inner.Vars(list))))
}

var (
	_ engine.Requester = (*Requester)(nil)
	_ engine.Responder = (*Responder)(nil)
	_ engine.Inspector = (*Requester)(nil)
	_ engine.Inspector = (*Responder)(nil)
)
