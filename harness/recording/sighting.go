package recording

import (
	"errors"
	"math"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// sighting is what a frame tells of the place where it was captured. It is kept until it is known whose the frame is,
// so that the capture is not read again to find out where its tap stands.
type sighting struct {
	at       vtime.Time
	flow     int32 // in learner.order; below zero it is one of sightings.unplaced, counted from -1 down
	psn      psn.PSN
	sack     psn.PSN // that a selective acknowledgement names
	msn      psn.MSN
	length   uint32 // bytes that a READ asks for
	payload  uint16 // bytes of the payload
	opcode   roce.Opcode
	syndrome roce.Syndrome
	way      capture.Direction
	tap      trace.Side // A where the frame does not say
	ackReq   bool
	headed   bool // the capture kept all headers
	sound    bool // nothing shows that the frame was damaged
}

// sightingLimit bounds the sightings that are kept; the frames of larger captures are read again.
const sightingLimit = 1 << 21

// sightings are those of all frames; none where there are too many.
type sightings struct {
	chunks   [][]sighting
	count    int
	unplaced []flowKey // of frames that are of no flow, or of none yet
}

// over reports whether there are too many.
func (l *sightings) over() bool { return l.count > sightingLimit || len(l.unplaced) > flowLimit }

// add keeps a sighting while there is room.
func (l *sightings) add(s *sighting) {
	const chunk = 1 << 10
	l.count++
	switch {
	case l.over():
		l.chunks, l.unplaced, l.count = nil, l.unplaced[:0], sightingLimit+1
		return
	case l.count%chunk == 1:
		l.chunks = append(l.chunks, make([]sighting, 0, min(chunk, max(16, 2*l.count))))
	}
	last := &l.chunks[len(l.chunks)-1]
	*last = append(*last, *s)
}

// sight notes what a frame tells, of flow w if it is of one that is known: a damaged frame begins none.
func (l *learner) sight(n *capture.Lane, h *roce.Frame, w *flow, sound bool) sighting {
	f, p := &n.Frame, &h.Packet
	s := sighting{at: n.At, psn: p.PSN, sack: p.SACK.PSN, msn: p.AETH.MSN, length: p.RETH.DMALen,
		payload: uint16(min(p.Len, math.MaxUint16)), opcode: p.Opcode, syndrome: p.AETH.Syndrome, way: f.Way,
		ackReq: p.AckReq, headed: f.Headed(), sound: sound}
	if f.HasTap {
		s.tap = f.Tap
	}
	if w != nil {
		s.flow = int32(w.index)
		return s
	}
	l.seen.unplaced = append(l.seen.unplaced, keyOf(h))
	s.flow = -int32(len(l.seen.unplaced))
	return s
}

// show shows the sightings of the frames of connections, in order of time: those that were kept, or those of the
// frames, read again.
func (l *learner) show(h *trace.Header, as anew, to func(*sighting, end)) error {
	x := l.ends(h)
	if !l.seen.over() {
		for _, chunk := range l.seen.chunks {
			for i := range chunk {
				x.show(&chunk[i], to)
			}
		}
		return nil
	}
	return as(func(c *captureFiles) error {
		_, err := eachFrame(c.sources, func(n *capture.Lane) {
			var h roce.Frame
			if h.Decode(n.Frame.Raw) != nil {
				return
			}
			l.seen.unplaced = l.seen.unplaced[:0]
			s := l.sight(n, &h, l.find(keyOf(&h)), isSound(&n.Frame, &h) || l.seals.never[h.Src])
			x.show(&s, to)
		})
		return err
	})
}

// eachFrame shows the frames of sources in order of time, and returns how they came. A capture that is cut short is
// good as far as it goes.
func eachFrame(sources []capture.Source, show func(*capture.Lane)) (*capture.Lanes, error) {
	lanes := capture.NewLanes(sources, time.Time{})
	for n := lanes.Next(); n != nil; n = lanes.Next() {
		show(n)
	}
	if err := lanes.Err(); !errors.Is(err, trace.ErrTruncated) {
		return lanes, err
	}
	return lanes, nil
}

// end is where a frame belongs: its connection, and which end sent it.
type end struct {
	conn int32 // -1 for none
	from trace.Side
}

// ends finds the ends of the connections of a header.
type ends struct {
	learner *learner
	flows   []end           // by learner.order
	others  map[flowKey]end // of those to which no flow is
}

// ends returns those of the connections of a header.
func (l *learner) ends(h *trace.Header) *ends {
	x := &ends{l, make([]end, len(l.order)), map[flowKey]end{}}
	for i := range x.flows {
		x.flows[i].conn = -1
	}
	for i := range h.Conns {
		for _, s := range []trace.Side{trace.A, trace.B} {
			from, to := &h.Conns[i].Ends[s], &h.Conns[i].Ends[s.Other()]
			x.place(flowKey{from.Addr, to.Addr, to.QP.QPN}, end{int32(i), s})
			for _, qp := range to.Misaddressed {
				x.place(flowKey{from.Addr, to.Addr, qp}, end{int32(i), s})
			}
		}
	}
	return x
}

// place notes where the frames with a key belong.
func (x *ends) place(k flowKey, e end) {
	if w := x.learner.flows[k]; w != nil {
		x.flows[w.index] = e
	} else {
		x.others[k] = e
	}
}

// show shows a sighting, unless it is of no connection.
func (x *ends) show(s *sighting, to func(*sighting, end)) {
	var e end
	known := true
	if s.flow >= 0 {
		e = x.flows[s.flow]
	} else if k := x.learner.seen.unplaced[-1-s.flow]; x.learner.flows[k] != nil {
		e = x.flows[x.learner.flows[k].index]
	} else {
		e, known = x.others[k]
	}
	if known && e.conn >= 0 {
		to(s, e)
	}
}

// span is how many PSNs a request takes; exact is false for a READ whose MTU is not known.
func span(h *trace.Header, s *sighting, e end) (n int, exact bool) {
	if s.opcode != roce.ReadRequest || s.length <= uint32(roce.PathMTUs[0]) {
		return 1, true
	}
	mtu := h.Conns[e.conn].Ends[e.from].QP.MTU
	if mtu == 0 {
		return 1, false
	}
	return min((int(s.length)+mtu-1)/mtu, psn.Half/2), true
}
