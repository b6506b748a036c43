package recording

import (
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Limits of the learner's state.
const (
	flowLimit  = 1 << 18
	startLimit = 1000 // packets of a flow among which the first PSN is sought
)

// learner derives from the frames of a capture its connections, their path MTU and start PSNs, and the side of each
// address. These are conclusions from observed frames, so no end is Known.
type learner struct {
	flows    map[flowKey]*flow
	latest   [64]*flow // cache by QP number, since frames of a flow come in bursts
	order    []*flow   // all flows, in the order of their first frames
	ways     map[way]int32
	asked    requests
	given    requests // answers, by the key of the request that they are for
	givenAt  requests // answers that a known tap saw, by the key in its view
	sizes    tally    // payload bytes of FIRST and MIDDLE packets that are a path MTU
	reqs     map[commID]*roce.REQ
	reps     map[commID]psn.PSN // start PSNs of the REPs that accepted a connection, by their sender
	met      []*setUp           // connections from messages of the communication manager; sides not yet decided
	survey   survey
	votes    map[netip.Addr]*[2]int // votes of the taps for sides A and B, by address
	bad      uint64                 // damaged frames
	headless uint64                 // frames of which the capture did not keep all headers
	seals    seals
	others   map[*flow][]uint32 // destination QPs of stray packets that belong to a flow, see gather
	limit    int                // most flows
	beyond   uint64             // frames of flows beyond the limit
	kept     kept
	seen     sightings
	headers  roce.Frame // of the frame being processed
}

// commID identifies a connection during its set-up.
type commID struct {
	from netip.Addr
	id   uint32
}

func newLearner() *learner {
	return &learner{
		flows: map[flowKey]*flow{}, ways: map[way]int32{}, limit: flowLimit,
		reqs: map[commID]*roce.REQ{}, reps: map[commID]psn.PSN{}, votes: map[netip.Addr]*[2]int{},
	}
}

// read processes all frames of the sources; progress is the part of them that has been read.
func (l *learner) read(sources []capture.Source, progress func() float64) error {
	l.kept = kept{heads: make([]capture.Heads, len(sources)), progress: progress, check: headCheck}
	lanes, err := eachFrame(sources, func(n *capture.Lane) {
		if !n.Frame.AnotherPort {
			l.survey.stamps.add(n.Frame.Wall)
			l.frame(n)
		}
		l.keep(n)
	})
	l.survey.lanes(lanes)
	l.kept.settle(lanes.Err(), len(l.order))
	return err
}

// frame processes one frame. Nothing is learnt from damaged frames, whose fields may have any value.
func (l *learner) frame(n *capture.Lane) {
	f, h := &n.Frame, &l.headers
	if h.Decode(f.Raw) != nil {
		if f.Kept == len(f.Raw) {
			l.bad++
			l.survey.damage(f, h.Src)
		}
		return
	}
	sealed := f.Check(h)
	if !sealed {
		l.bad++
		l.survey.damage(f, h.Src)
	}
	w := l.find(h)
	counts := l.seals.take(w, h.Src, sealed)
	if counts {
		w = l.packet(f, h, w)
	}
	l.sight(l.seen.add(), n, w, counts)
}

// packet processes a packet, of flow w if that is known, and returns the flow.
func (l *learner) packet(f *capture.Frame, h *roce.Frame, w *flow) *flow {
	l.side(f, h)
	if !f.Headed() {
		l.headless++
		if at, n, ok := roce.FieldSpan(f.Raw, "psn"); !ok || at+n > f.Kept {
			return w
		}
	}
	p := &h.Packet
	if p.DestQP == roce.CMQueuePair {
		l.management(h)
		return w
	}
	if w == nil {
		w = l.begin(keyOf(h), h.SrcPort)
	}
	if w == nil {
		l.beyond++
		return nil
	}
	if w.frames++; w.frames == 1 {
		w.tap = f.Tap
	}
	if !f.HasTap || f.Tap == w.tap { // the other tap shows the same packets again
		w.threads.Takes(p, h.SrcPort, w.span(p, 0))
		l.astray(w, p)
	}
	l.size(w, p)
	switch {
	case p.Opcode.Class() == roce.ClassUD: // has no answer
		w.datagrams++
		w.requested(p.PSN)
	case p.Opcode.IsRequest():
		l.late(w, p.PSN, f)
		l.request(w, p, f)
	case p.Opcode.IsResponse() && !p.Opcode.NumberedApart():
		l.answer(w, p.PSN, p.Opcode.IsReadResponse() || p.Opcode == roce.AtomicAck, f)
	}
	return w
}

// size counts the P_Key of a packet, and its payload length as evidence of the MTU.
func (l *learner) size(w *flow, p *roce.Packet) {
	switch p.Opcode {
	case roce.LoWAR: // a repair packet has no P_Key, and is longer than the packets that it protects
		return
	case roce.CNP: // its 16 bytes are of no message
		return
	}
	w.keys.add(int(p.PKey))
	if p.Opcode.HasPayload() {
		w.most = max(w.most, p.Len)
		if !p.Opcode.EndsMessage() && p.Len > 0 {
			if roce.IsPathMTU(p.Len) {
				l.sizes.add(p.Len)
			}
			w.full.add(p.Len)
		}
	}
}

// side votes for the sides of a frame's addresses, if the tap and the direction of the frame are known.
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

// vote adds n votes for address a on side s; votes may contradict each other.
func (l *learner) vote(a netip.Addr, s trace.Side, n int) {
	v := l.votes[a]
	if v == nil {
		v = new([2]int)
		l.votes[a] = v
	}
	v[s] += n
}

// requested records the PSN of a request. The first requests may come out of order, so the earliest PSN of the first
// startLimit is the start.
func (w *flow) requested(p psn.PSN) {
	if w.requests == 0 {
		w.first, w.opened = p, p
	} else if w.requests < startLimit && p.Less(w.first) {
		w.first = p
	}
	w.requests++
}

// request processes a request that an answer may be for.
func (l *learner) request(w *flow, p *roce.Packet, f *capture.Frame) {
	w.requested(p.PSN)
	n := max(1, w.span(p, roce.PathMTUs[0]))
	w.sent.add(p.PSN, n)
	if f.HasTap {
		w.sentAt[f.Tap&1].add(p.PSN, n)
	}
	l.asked.add(askedKey{way: w.way, psn: p.PSN}, w, p.Opcode.AnsweredByData())
	w.asked = l.asked.last
}

// management adds a connection from a REQ and the REP that accepts it: QPNs, start PSNs and MTU.
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
		id := commID{h.Src, m.Local}
		if start, known := l.reps[id]; known && start == m.StartingPSN {
			return // it is sent again
		}
		if len(l.met) == l.limit {
			l.beyond++
			return
		}
		l.reps[id] = m.StartingPSN
		l.met = append(l.met, newSetUp(trace.End{Addr: h.Dst}, trace.End{Addr: h.Src}, req, m))
	}
}
