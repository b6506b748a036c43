package recording

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/merge"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Limits of what is learnt from a capture.
const (
	flowLimit  = 1 << 16
	startLimit = 1000    // packets of a flow among which the first PSN is sought
	voteLimit  = 8       // answers that settle which flow answers which
	echoLimit  = 1 << 16 // frames remembered to find out which tap sees them first
	answerLate = 1 << 16 // how far behind the newest request an answer may lie
)

// learner finds out from frames alone what a capture is of: the connections, their path MTU and start PSNs, and which
// side each address is. All of it is a conclusion from what was seen, so no end is Known.
type learner struct {
	flows  map[flowKey]*flow
	order  []*flow // as they appeared
	hosts  map[[2]netip.Addr][]*flow
	sizes  map[int]int // payload bytes of FIRST and MIDDLE packets
	most   int         // largest payload
	reqs   map[commID]*roce.REQ
	met    []trace.Conn // from connection management, sides not yet decided
	echoes map[uint64]trace.Side
	votes  map[netip.Addr]*[2]int // for side A and B, from taps
	taps   [2]bool
	tapped bool // frames say at which tap they were seen
}

// commID names a connection during its set-up.
type commID struct {
	from netip.Addr
	id   uint32
}

// flowKey is a direction of a connection as every frame shows it.
type flowKey struct {
	src, dst netip.Addr
	qp       uint32
}

// flow is one direction of a connection.
type flow struct {
	key         flowKey
	index       int // in learner.order
	port        uint16
	requests    int
	first, last psn.PSN // of the requests
	answers     map[*flow]int
	settled     bool
	peer        *flow
}

func newLearner() *learner {
	return &learner{
		flows: map[flowKey]*flow{}, hosts: map[[2]netip.Addr][]*flow{}, sizes: map[int]int{},
		reqs: map[commID]*roce.REQ{}, echoes: map[uint64]trace.Side{}, votes: map[netip.Addr]*[2]int{},
	}
}

// learn reads whole sources and returns the header that they support.
func learn(sources []capture.Source) (trace.Header, error) {
	l := newLearner()
	lanes := capture.NewLanes(sources, time.Time{})
	for n := lanes.Next(); n != nil; n = lanes.Next() {
		l.frame(&n.Frame)
	}
	if err := lanes.Err(); err != nil && !errors.Is(err, trace.ErrTruncated) {
		return trace.Header{}, err
	}
	return l.header(), nil
}

// frame takes what one frame shows. Damaged frames teach nothing: their fields may be anything.
func (l *learner) frame(f *capture.Frame) {
	var h roce.Frame
	if err := h.Decode(f.Raw); err != nil {
		return
	}
	if f.Kept == len(f.Raw) && !h.ICRCOK(f.Raw) {
		return
	}
	l.side(f, &h)
	p := &h.Packet
	if p.DestQP == roce.CMQueuePair {
		l.management(&h)
		return
	}
	w := l.flow(flowKey{h.Src, h.Dst, p.DestQP}, h.SrcPort)
	if w == nil {
		return
	}
	if p.Opcode.HasPayload() && p.Opcode != roce.LoWAR { // a repair packet is longer than the packets that it protects
		l.most = max(l.most, p.Len)
		if !p.Opcode.EndsMessage() && p.Len > 0 {
			l.sizes[p.Len]++
		}
	}
	switch {
	case p.Opcode.IsRequest():
		w.request(p)
	case p.Opcode.IsResponse() && !p.Opcode.NumberedApart():
		l.answer(w, p.PSN)
	}
}

// side collects what the taps tell about the sides of addresses: the direction of a frame where it is known, else that
// the tap which sees a frame first is its sender's.
func (l *learner) side(f *capture.Frame, h *roce.Frame) {
	if !f.HasTap {
		return
	}
	l.tapped = true
	l.taps[f.Tap] = true
	switch f.Way {
	case capture.Outward:
		l.vote(h.Src, f.Tap)
	case capture.Inward:
		l.vote(h.Dst, f.Tap)
	default:
		key := merge.ContentKey(f.Raw, trace.A)
		if first, ok := l.echoes[key]; ok && first != f.Tap {
			l.vote(h.Src, first)
		} else if len(l.echoes) < echoLimit {
			l.echoes[key] = f.Tap
		}
	}
}

// vote counts one sign that an address is on a side; signs may contradict where clocks disagree.
func (l *learner) vote(a netip.Addr, s trace.Side) {
	v := l.votes[a]
	if v == nil {
		v = new([2]int)
		l.votes[a] = v
	}
	v[s]++
}

// flow returns the flow of a key, nil when there are too many.
func (l *learner) flow(k flowKey, port uint16) *flow {
	w := l.flows[k]
	if w == nil && len(l.order) < flowLimit {
		w = &flow{key: k, index: len(l.order), port: port, answers: map[*flow]int{}}
		l.flows[k] = w
		l.order = append(l.order, w)
		hosts := [2]netip.Addr{k.src, k.dst}
		l.hosts[hosts] = append(l.hosts[hosts], w)
	}
	return w
}

// request notes a request's PSN. The first few may come out of order, so the earliest of them is the start.
func (w *flow) request(p *roce.Packet) {
	last := p.PSN
	if p.Opcode.IsRead() {
		// A READ takes as many PSNs as its response has packets: at most this many, as the MTU is 256 at least.
		last = last.Add(int(min(p.RETH.DMALen/256, psn.Half/2)))
	}
	if w.requests == 0 {
		w.first, w.last = p.PSN, last
	}
	if w.requests < startLimit && p.PSN.Less(w.first) {
		w.first = p.PSN
	}
	w.last = psn.Max(w.last, last)
	w.requests++
}

// answer votes for the flows whose requests a response may answer.
func (l *learner) answer(w *flow, p psn.PSN) {
	if w.settled {
		return
	}
	for _, r := range l.hosts[[2]netip.Addr{w.key.dst, w.key.src}] {
		if behind := r.last.Sub(p); r.requests > 0 && behind >= 0 && behind < answerLate && r.first.LessEq(p) {
			w.answers[r]++
			w.settled = w.answers[r] >= voteLimit && len(w.answers) == 1 || w.answers[r] >= voteLimit*voteLimit
		}
	}
}

// management takes the QPNs, start PSNs and MTU from a REQ and the REP that accepts it.
func (l *learner) management(h *roce.Frame) {
	_, msg, err := roce.DecodeCM(h.Packet.Payload)
	if err != nil {
		return
	}
	switch m := msg.(type) {
	case *roce.REQ:
		if len(l.reqs) < flowLimit {
			l.reqs[commID{h.Src, m.LocalCommID}] = m
		}
	case *roce.REP:
		req := l.reqs[commID{h.Dst, m.Remote}]
		if req == nil {
			return
		}
		delete(l.reqs, commID{h.Dst, m.Remote})
		// Each message says where its receiver begins to send.
		active := trace.End{Addr: h.Dst, QP: engine.QP{QPN: req.QPN, DestQPN: m.QPN, MTU: req.MTU(), SendPSN: m.StartingPSN, RecvPSN: req.StartingPSN}}
		passive := trace.End{Addr: h.Src, QP: engine.QP{QPN: m.QPN, DestQPN: req.QPN, MTU: req.MTU(), SendPSN: req.StartingPSN, RecvPSN: m.StartingPSN}}
		l.met = append(l.met, trace.Conn{Ends: [2]trace.End{active, passive}})
	}
}

// header puts together what was learnt.
func (l *learner) header() trace.Header {
	h := trace.Header{Version: trace.FormatVersion, Bench: "file", Taps: l.taps, Bytes: true}
	if !l.tapped {
		h.Taps = [2]bool{true, false}
	}
	l.pair()
	mtu := l.mtu()
	used := map[*flow]bool{}
	for _, c := range l.met {
		for i := range c.Ends {
			o := &c.Ends[1-i]
			if w := l.flows[flowKey{c.Ends[i].Addr, o.Addr, o.QP.QPN}]; w != nil {
				c.Ends[i].Port, used[w] = w.port, true
			}
		}
		h.Conns = append(h.Conns, l.sided(c))
	}
	for _, w := range l.order {
		if !used[w] {
			used[w], used[w.peer] = true, true
			h.Conns = append(h.Conns, l.sided(w.conn(mtu)))
		}
	}
	return h
}

// pair decides which flow answers which: by most votes, and then, where two hosts have one flow each way left, by that.
func (l *learner) pair() {
	type claim struct {
		w, r  *flow
		votes int
		at    int
	}
	var claims []claim
	for _, w := range l.order {
		for r, n := range w.answers {
			claims = append(claims, claim{w, r, n, w.index*flowLimit + r.index})
		}
	}
	slices.SortFunc(claims, func(a, b claim) int {
		return cmp.Or(cmp.Compare(b.votes, a.votes), cmp.Compare(a.at, b.at))
	})
	for _, c := range claims {
		if c.w.peer == nil && c.r.peer == nil {
			c.w.peer, c.r.peer = c.r, c.w
		}
	}
	for _, w := range l.order {
		back := l.unpaired(w.key.dst, w.key.src)
		if w.peer == nil && len(back) == 1 && len(l.unpaired(w.key.src, w.key.dst)) == 1 {
			w.peer, back[0].peer = back[0], w
		}
	}
}

// unpaired lists the flows from one host to another that nothing answers yet.
func (l *learner) unpaired(src, dst netip.Addr) (list []*flow) {
	for _, w := range l.hosts[[2]netip.Addr{src, dst}] {
		if w.peer == nil {
			list = append(list, w)
		}
	}
	return list
}

// conn is the connection of a flow and the one that answers it, as far as it was seen; the sender of the first requests
// comes first.
func (w *flow) conn(mtu int) trace.Conn {
	if w.requests == 0 && w.peer != nil && w.peer.requests > 0 {
		w = w.peer
	}
	near := trace.End{Addr: w.key.src, Port: w.port, QP: engine.QP{DestQPN: w.key.qp, MTU: mtu, SendPSN: w.first}}
	far := trace.End{Addr: w.key.dst, QP: engine.QP{QPN: w.key.qp, MTU: mtu, RecvPSN: w.first}}
	if r := w.peer; r != nil {
		near.QP.QPN, far.QP.DestQPN = r.key.qp, r.key.qp
		near.QP.RecvPSN, far.QP.SendPSN, far.Port = r.first, r.first, r.port
	}
	return trace.Conn{Ends: [2]trace.End{near, far}}
}

// sided puts the end that the taps place at A, or else the one that sent first, on side A.
func (l *learner) sided(c trace.Conn) trace.Conn {
	lean := 0
	for i, sign := range []int{1, -1} {
		if v := l.votes[c.Ends[i].Addr]; v != nil {
			lean += sign * (v[trace.A] - v[trace.B])
		}
	}
	if lean < 0 {
		c.Ends[trace.A], c.Ends[trace.B] = c.Ends[trace.B], c.Ends[trace.A]
	}
	return c
}

// mtu is the most frequent payload of packets that must be full, or the smallest MTU that holds what was seen.
func (l *learner) mtu() int {
	best, count := 0, 0
	for size, n := range l.sizes {
		if n > count || n == count && size > best {
			best, count = size, n
		}
	}
	if best > 0 || l.most == 0 {
		return best
	}
	for m := 256; m < 4096; m *= 2 {
		if l.most <= m {
			return m
		}
	}
	return 4096
}
