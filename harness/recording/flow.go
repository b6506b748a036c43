package recording

import (
	"cmp"
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/recording/evidence"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// flowKey identifies a direction of a connection by fields of every frame.
type flowKey struct {
	src, dst netip.Addr
	qp       uint32
}

// keyOf returns the key of a frame.
func keyOf(h *roce.Frame) flowKey { return flowKey{h.Src, h.Dst, h.Packet.DestQP} }

// flow is one direction of a connection.
type flow struct {
	key       flowKey
	index     int    // index in learner.order
	way       int32  // number of the direction between its hosts
	back      int32  // number of the direction of its answers
	seal      *seal  // counts of its sender; nil when there are too many senders
	port      uint16 // UDP source port of the first packet
	threads   evidence.Threads
	frames    int32
	requests  int
	datagrams int32       // packets of UD service
	first     psn.PSN     // first PSN of the requests
	opened    psn.PSN     // PSN of the request that was seen first
	sent      psnRange    // PSNs of the requests
	sentAt    [2]psnRange // PSNs of the requests, by the tap that saw them
	asked     uint64      // number of the newest request, see learner.asked
	replied   psnRange    // PSNs of the answers
	answers   []candidate // flows whose requests this one may answer
	settled   bool        // the flow that this one answers is certain
	answered  bool        // the flow that answers this one is certain
	peer      *flow
	agreed    int    // votes for the peer
	guessed   bool   // other flows fit as the peer too
	proven    bool   // no other flow fits as the peer
	placed    bool   // it is in a connection, or its packets belong to another flow
	most      int    // largest payload
	full      counts // payloads of packets that must be full
	keys      counts // P_Keys
	sequence  sequence
	tap       trace.Side // tap of the first frame; A when unknown
	stray     *stray     // evidence that its packets belong to another flow; nil when there is none
	claim     *flow      // a flow whose latest packet may be the next packet of this one
	lent      *flow      // a stray flow whose answers may be answers of this one; nil when there is none, or another
}

// find returns the flow of a frame; nil when there is none.
func (l *learner) find(h *roce.Frame) *flow {
	qp := h.Packet.DestQP
	latest := &l.latest[qp%uint32(len(l.latest))]
	if w := *latest; w != nil && w.key.qp == qp && w.key.src == h.Src && w.key.dst == h.Dst {
		return w
	}
	w := l.flows[keyOf(h)]
	if w != nil {
		*latest = w
	}
	return w
}

// begin adds a flow; it returns nil when there are too many.
func (l *learner) begin(k flowKey, port uint16) *flow {
	if len(l.order) >= l.limit {
		return nil
	}
	w := &flow{key: k, index: len(l.order), port: port, way: l.way(k.src, k.dst), back: l.way(k.dst, k.src),
		seal: l.seals.by[k.src]}
	l.flows[k] = w
	l.order = append(l.order, w)
	return w
}

// way returns the number of a direction between two hosts.
func (l *learner) way(from, to netip.Addr) int32 {
	n, known := l.ways[way{from, to}]
	if !known {
		n = int32(len(l.ways))
		l.ways[way{from, to}] = n
	}
	return n
}

// header returns the header with the connections that were learnt.
func (l *learner) header() trace.Header {
	h := trace.Header{Version: trace.FormatVersion, Bench: trace.FileBench, Bytes: true,
		Taps: [2]bool{true, l.survey.two()}}
	if h.Taps[trace.B] {
		l.survey.sides(l.vote)
	}
	l.pair()
	h.Conns = make([]trace.Conn, 0, len(l.met)+l.pairs())
	for _, m := range l.met {
		c := trace.Conn{Ends: m.ends}
		for i := range c.Ends {
			o := &c.Ends[1-i]
			if w := l.flows[flowKey{c.Ends[i].Addr, o.Addr, o.QP.QPN}]; w != nil {
				c.Ends[i].Port, c.Ends[i].QP.PKey, o.Misaddressed, w.placed = w.port, w.pkey(), l.others[w], true
				if w.threads.Renewed() || w.threads.Refute(c.Ends[i].QP.MTU) {
					evidence.MarkAnew(&c) // not all packets are of the connection that the messages set up
				}
			}
		}
		h.Conns = append(h.Conns, l.sided(c))
	}
	evidence.Overlay(h.Conns)
	for _, w := range l.order {
		if !w.placed {
			if w.placed = true; w.peer != nil {
				w.peer.placed = true
			}
			h.Conns = append(h.Conns, l.sided(l.conn(w)))
		}
	}
	return h
}

// conn returns the connection of a flow and of its peer, if that was seen; the sender of the first requests is the
// first end. Its MTU is that of its own packets, since others may have another one.
func (l *learner) conn(w *flow) trace.Conn {
	mtu := w.mtu(0)
	if w.requests == 0 && w.peer != nil && w.peer.requests > 0 {
		w = w.peer
	}
	near := trace.End{Addr: w.key.src, Port: w.port, QP: engine.QP{DestQPN: w.key.qp, MTU: mtu,
		SendPSN: w.first, PKey: w.pkey()}}
	far := trace.End{Addr: w.key.dst, QP: engine.QP{QPN: w.key.qp, MTU: mtu, RecvPSN: w.first},
		Misaddressed: l.others[w]}
	if r := w.peer; r != nil {
		near.QP.QPN, far.QP.DestQPN, far.QP.PKey, near.Misaddressed = r.key.qp, r.key.qp, r.pkey(), l.others[r]
		near.QP.RecvPSN, far.QP.SendPSN, far.Port = r.first, r.first, r.port
	}
	if w.requests == 0 {
		near, far = far, near // only answers were seen; their destination is the requester
	}
	c := trace.Conn{Ends: [2]trace.End{near, far}}
	if mtu == 0 {
		c.Fits = int32(roundUp(w.longest()))
	}
	if w.guessed {
		c.Doubts = [2]*trace.Doubt{evidence.GuessedPeer, evidence.GuessedPeer}
		if w.threads.Renewed() || w.peer != nil && (w.peer.threads.Renewed() || !w.agrees(w.peer)) {
			evidence.MarkAnew(&c)
		}
	} else if r := cmp.Or(w.peer, w); w.threads.Differ(&r.threads) {
		evidence.MarkAnew(&c)
	}
	return c
}

// sided puts on side A the end that the taps place there, otherwise the end that sent first.
func (l *learner) sided(c trace.Conn) trace.Conn {
	if l.lean(&c) < 0 {
		c.Ends[trace.A], c.Ends[trace.B] = c.Ends[trace.B], c.Ends[trace.A]
	}
	return c
}

// lean returns the votes of the taps for the present sides of a connection's ends, minus those for exchanged sides.
func (l *learner) lean(c *trace.Conn) (lean int) {
	for i, sign := range []int{1, -1} {
		if v := l.votes[c.Ends[i].Addr]; v != nil {
			lean += sign * (v[trace.A] - v[trace.B])
		}
	}
	return lean
}

// say sets the description of two taps.
func (l *learner) say(h *trace.Header, c *Capture) {
	c.Tap, c.Why = bothPorts, "each frame is first seen at its sender's tap"
	if l.tied(h) {
		c.Why = "frames do not show which tap is at which end, so A is that of the first request: its " +
			"file comes first by name"
	}
}

// tied reports whether the taps have no votes for the sides of any connection.
func (l *learner) tied(h *trace.Header) bool {
	for i := range h.Conns {
		if l.lean(&h.Conns[i]) != 0 {
			return false
		}
	}
	return true
}
