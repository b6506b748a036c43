package recording

import (
	"errors"
	"net/netip"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Limits of what is learnt from a capture.
const (
	flowLimit  = 1 << 18
	startLimit = 1000 // packets of a flow among which the first PSN is sought
)

// learner finds out from frames alone what a capture is of: the connections, their path MTU and start PSNs, and which
// side each address is. All of it is a conclusion from what was seen, so no end is Known.
type learner struct {
	flows    map[flowKey]*flow
	latest   [64]*flow // by QP number: frames of a flow come together
	order    []*flow   // as they appeared
	ways     map[way]int32
	asked    requests
	sizes    map[int]int // payload bytes of FIRST and MIDDLE packets, where they are a path MTU
	reqs     map[commID]*roce.REQ
	met      []trace.Conn // from connection management, sides not yet decided
	survey   survey
	votes    map[netip.Addr]*[2]int // for side A and B, from taps
	bad      uint64                 // frames that are damaged
	headless uint64                 // frames of which the capture did not keep all headers
	seals    seals
	others   map[*flow][]uint32 // QPs that packets of a flow were for, beside its own
	limit    int                // of flows
	beyond   uint64             // frames of flows beyond the limit
	frames   []uint64           // by source
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
	key      flowKey
	index    int   // in learner.order
	way      int32 // number of the direction between its hosts,
	back     int32 // and of the one that its answers take
	port     uint16
	frames   int32
	requests int
	first    psn.PSN     // of the requests
	answers  []candidate // flows whose requests this one may answer
	settled  bool        // it is clear which flow this one answers
	answered bool        // it is clear which flow answers this one
	peer     *flow
	guessed  bool   // the peer is one of several that may be it
	most     int    // largest payload
	full     counts // payloads of packets that must be full
	keys     counts // P_Keys
	sequence sequence
	stray    *stray // what shows that it is no flow of its own; nil while it is one
	claim    *flow  // a flow whose latest packet may be the one that is missing here
}

func newLearner() *learner {
	return &learner{
		flows: map[flowKey]*flow{}, ways: map[way]int32{}, sizes: map[int]int{}, limit: flowLimit,
		reqs: map[commID]*roce.REQ{}, votes: map[netip.Addr]*[2]int{},
	}
}

// learn reads whole sources.
func learn(sources []capture.Source) (*learner, error) {
	l := newLearner()
	return l, l.read(sources)
}

// read takes all frames of sources.
func (l *learner) read(sources []capture.Source) error {
	lanes := capture.NewLanes(sources, time.Time{})
	l.frames = make([]uint64, len(sources))
	for n := lanes.Next(); n != nil; n = lanes.Next() {
		l.frames[n.Index]++
		l.frame(&n.Frame)
	}
	l.survey.lanes(lanes)
	if err := lanes.Err(); err != nil && !errors.Is(err, trace.ErrTruncated) {
		return err
	}
	return nil
}

// frame takes what one frame shows. Damaged frames teach nothing: their fields may be anything.
func (l *learner) frame(f *capture.Frame) {
	var h roce.Frame
	whole := f.Kept == len(f.Raw)
	err := h.Decode(f.Raw)
	sealed := err == nil && (!whole || h.ICRCOK(f.Raw))
	if whole && !sealed {
		l.bad++
	}
	if err != nil || !l.seals.take(h.Src, sealed) {
		return
	}
	l.side(f, &h)
	if !f.Headed() {
		l.headless++
		if at, n, ok := roce.FieldSpan(f.Raw, "psn"); !ok || at+n > f.Kept {
			return
		}
	}
	p := &h.Packet
	if p.DestQP == roce.CMQueuePair {
		l.management(&h)
		return
	}
	w := l.flow(flowKey{h.Src, h.Dst, p.DestQP}, h.SrcPort)
	if w == nil {
		l.beyond++
		return
	}
	w.frames++
	l.astray(w, p)
	if p.Opcode != roce.LoWAR {
		w.keys.add(int(p.PKey))
	}
	if p.Opcode.HasPayload() && p.Opcode != roce.LoWAR { // a repair packet is longer than the packets that it protects
		w.most = max(w.most, p.Len)
		if !p.Opcode.EndsMessage() && p.Len > 0 {
			if roce.IsPathMTU(p.Len) {
				l.sizes[p.Len]++
			}
			w.full.add(p.Len)
		}
	}
	switch {
	case p.Opcode.IsRequest():
		l.request(w, p)
	case p.Opcode.IsResponse() && !p.Opcode.NumberedApart():
		l.answer(w, p.PSN)
	}
}

// side collects what the taps tell about the sides of addresses: the direction of a frame where it is known.
func (l *learner) side(f *capture.Frame, h *roce.Frame) {
	l.survey.frame(f, h)
	switch {
	case !f.HasTap:
	case f.Way == capture.Outward:
		l.vote(h.Src, f.Tap, 1)
	case f.Way == capture.Inward:
		l.vote(h.Dst, f.Tap, 1)
	}
}

// vote counts signs that an address is on a side; signs may contradict.
func (l *learner) vote(a netip.Addr, s trace.Side, n int) {
	v := l.votes[a]
	if v == nil {
		v = new([2]int)
		l.votes[a] = v
	}
	v[s] += n
}

// flow returns the flow of a key, nil when there are too many.
func (l *learner) flow(k flowKey, port uint16) *flow {
	latest := &l.latest[k.qp%uint32(len(l.latest))]
	if w := *latest; w != nil && w.key == k {
		return w
	}
	w := l.flows[k]
	if w == nil && len(l.order) < l.limit {
		w = &flow{key: k, index: len(l.order), port: port, way: l.way(k.src, k.dst), back: l.way(k.dst, k.src)}
		l.flows[k] = w
		l.order = append(l.order, w)
	}
	*latest = w
	return w
}

// way numbers the directions between hosts.
func (l *learner) way(from, to netip.Addr) int32 {
	n, known := l.ways[way{from, to}]
	if !known {
		n = int32(len(l.ways))
		l.ways[way{from, to}] = n
	}
	return n
}

// request notes a request's PSN. The first few may come out of order, so the earliest of them is the start.
func (l *learner) request(w *flow, p *roce.Packet) {
	if w.requests == 0 || w.requests < startLimit && p.PSN.Less(w.first) {
		w.first = p.PSN
	}
	w.requests++
	l.asked.add(askedKey{w.way, p.PSN}, w)
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
	h := trace.Header{Version: trace.FormatVersion, Bench: "file", Taps: [2]bool{true, l.survey.two()}, Bytes: true}
	if h.Taps[trace.B] {
		l.survey.sides(l.vote)
	}
	used := l.pair()
	mtu := l.mtu()
	h.Conns = make([]trace.Conn, 0, len(l.met)+l.pairs())
	for _, c := range l.met {
		for i := range c.Ends {
			o := &c.Ends[1-i]
			if w := l.flows[flowKey{c.Ends[i].Addr, o.Addr, o.QP.QPN}]; w != nil {
				c.Ends[i].Port, c.Ends[i].QP.PKey, o.Misaddressed, used[w] = w.port, w.pkey(), l.others[w], true
			}
		}
		h.Conns = append(h.Conns, l.sided(c))
	}
	for _, w := range l.order {
		if !used[w] {
			used[w], used[w.peer] = true, true
			h.Conns = append(h.Conns, l.sided(l.conn(w, mtu)))
		}
	}
	return h
}

// conn is the connection of a flow and the one that answers it, as far as it was seen; the sender of the first requests
// comes first.
func (l *learner) conn(w *flow, mtu int) trace.Conn {
	mtu = w.mtu(mtu)
	if w.requests == 0 && w.peer != nil && w.peer.requests > 0 {
		w = w.peer
	}
	near := trace.End{Addr: w.key.src, Port: w.port, QP: engine.QP{DestQPN: w.key.qp, MTU: mtu, SendPSN: w.first, PKey: w.pkey()}}
	far := trace.End{Addr: w.key.dst, QP: engine.QP{QPN: w.key.qp, MTU: mtu, RecvPSN: w.first}, Misaddressed: l.others[w]}
	if r := w.peer; r != nil {
		near.QP.QPN, far.QP.DestQPN, far.QP.PKey, near.Misaddressed = r.key.qp, r.key.qp, r.pkey(), l.others[r]
		near.QP.RecvPSN, far.QP.SendPSN, far.Port = r.first, r.first, r.port
	}
	if w.requests == 0 {
		near, far = far, near // answers alone were seen, and they go to whoever asked
	}
	c := trace.Conn{Ends: [2]trace.End{near, far}}
	if w.guessed {
		c.Doubts = [2]trace.Doubt{guessedPeer, guessedPeer}
	}
	return c
}

// sided puts the end that the taps place at A, or else the one that sent first, on side A.
func (l *learner) sided(c trace.Conn) trace.Conn {
	if l.lean(&c) < 0 {
		c.Ends[trace.A], c.Ends[trace.B] = c.Ends[trace.B], c.Ends[trace.A]
	}
	return c
}

// lean is by how many votes the ends of a connection are on the sides where they stand; below zero, they are on the others.
func (l *learner) lean(c *trace.Conn) (lean int) {
	for i, sign := range []int{1, -1} {
		if v := l.votes[c.Ends[i].Addr]; v != nil {
			lean += sign * (v[trace.A] - v[trace.B])
		}
	}
	return lean
}

// say describes two taps.
func (l *learner) say(h *trace.Header, c *Capture) {
	c.Tap, c.Why = bothPorts, "each frame is first seen at its sender's tap"
	if l.tied(h) {
		c.Why = "frames do not tell which tap is whose, so A is the one of the first request: its file comes first by name"
	}
}

// tied reports whether taps do not tell the sides of any connection.
func (l *learner) tied(h *trace.Header) bool {
	for i := range h.Conns {
		if l.lean(&h.Conns[i]) != 0 {
			return false
		}
	}
	return true
}

// mtu is the path MTU that most packets have which must be full; 0 when none has one.
func (l *learner) mtu() int {
	best, count := 0, 0
	for size, n := range l.sizes {
		if n > count || n == count && size > best {
			best, count = size, n
		}
	}
	return best
}
