package recording

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/splitmix"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// sighting holds the fields of a frame from which the place of the tap is derived. Sightings are kept until the
// connections of the frames are known, so that the capture need not be read again.
type sighting struct {
	at       vtime.Time
	flow     int32 // index in learner.order; below zero: -1 minus the index in sightings.unplaced
	psn      psn.PSN
	sack     psn.PSN // PSN that a selective acknowledgement names
	msn      psn.MSN
	length   uint32 // bytes that a READ requests
	payload  uint16 // length of the payload in bytes
	port     uint16 // UDP source port
	opcode   roce.Opcode
	syndrome roce.Syndrome
	way      capture.Direction
	tap      trace.Side // A when unknown
	mark     uint8      // hash of what a request asks for, without its PSN
	ackReq   bool
	headed   bool // the capture kept all headers
	sound    bool // the frame is not known to be damaged
}

// sightingLimit bounds the sightings that are kept; the frames of larger captures are read again.
const sightingLimit = 1 << 21

// sightings holds the sightings of all frames; none when there are too many.
type sightings struct {
	chunks   [][]sighting
	count    int
	unplaced []flowKey // keys of frames of no flow at the time of the frame
	spare    sighting  // the latest, when there are too many
}

// over reports whether there are too many sightings.
func (l *sightings) over() bool { return l.count > sightingLimit || len(l.unplaced) > flowLimit }

// add returns the place of a further sighting, which is kept while there is room.
func (l *sightings) add() *sighting {
	const chunk = 1 << 10
	l.count++
	if l.over() {
		l.chunks, l.unplaced, l.count = nil, l.unplaced[:0], sightingLimit+1
		return &l.spare
	}
	if n := len(l.chunks); n == 0 || len(l.chunks[n-1]) == cap(l.chunks[n-1]) {
		l.chunks = append(l.chunks, make([]sighting, 0, min(chunk, max(16, 2*l.count))))
	}
	last := &l.chunks[len(l.chunks)-1]
	*last = (*last)[:len(*last)+1]
	return &(*last)[len(*last)-1]
}

// sight sets the sighting of the frame whose headers were decoded last; w is its flow, nil if there is none, since a
// damaged frame begins no flow.
func (l *learner) sight(s *sighting, n *capture.Lane, w *flow, sound bool) {
	f, p := &n.Frame, &l.headers.Packet
	s.at, s.psn, s.sack, s.msn, s.length = n.At, p.PSN, p.SACK.PSN, p.AETH.MSN, p.RETH.DMALen
	s.payload, s.opcode, s.syndrome = uint16(min(p.Len, math.MaxUint16)), p.Opcode, p.AETH.Syndrome
	s.way, s.ackReq, s.headed, s.sound = f.Way, p.AckReq, f.Headed(), sound
	s.port, s.mark = l.headers.SrcPort, markOf(p)
	if f.HasTap {
		s.tap = f.Tap
	}
	if w != nil {
		s.flow = int32(w.index)
		return
	}
	l.seen.unplaced = append(l.seen.unplaced, keyOf(&l.headers))
	s.flow = -int32(len(l.seen.unplaced))
}

// markOf returns the mark of a packet: equal for a request and its retransmission, and mostly different for another
// request.
func markOf(p *roce.Packet) uint8 {
	if !p.Opcode.IsRequest() {
		return 0
	}
	var begin [8]byte
	copy(begin[:], p.Payload)
	h := splitmix.Stream(p.RETH.VA ^ uint64(p.RETH.RKey)<<32).At(uint64(p.RETH.DMALen))
	h = splitmix.Stream(h ^ p.Atomic.SwapAdd).At(p.Atomic.Compare)
	return uint8(splitmix.Stream(h ^ binary.LittleEndian.Uint64(begin[:])).At(uint64(p.Opcode)<<32 | uint64(p.Len)))
}

// show calls to with the sightings of the frames of connections, in time order; if the sightings were not kept, it
// reads the captures again.
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
			h := &l.headers
			if h.Decode(n.Frame.Raw) != nil {
				return
			}
			l.seen.unplaced = l.seen.unplaced[:0]
			var s sighting
			l.sight(&s, n, l.find(keyOf(h)), n.Frame.Check(h) || l.seals.never[h.Src])
			x.show(&s, to)
		})
		return err
	})
}

// eachFrame calls show with the frames of the sources in time order, those to another port left out, and returns the
// lanes. A capture that is cut short
// is no error.
func eachFrame(sources []capture.Source, show func(*capture.Lane)) (*capture.Lanes, error) {
	lanes := capture.NewLanes(sources, time.Time{})
	for n := lanes.Next(); n != nil; n = lanes.Next() {
		if !n.Frame.AnotherPort {
			show(n)
		}
	}
	if err := lanes.Err(); !errors.Is(err, trace.ErrTruncated) {
		return lanes, err
	}
	return lanes, nil
}

// end is the connection of a frame and the end that sent it.
type end struct {
	conn int32 // -1 for none
	from trace.Side
}

// ends finds the connection of a sighting.
type ends struct {
	learner *learner
	flows   []end           // by index in learner.order
	others  map[flowKey]end // ends of connections for keys without a flow
}

// ends returns the ends of the connections of a header.
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

// place sets the end of the frames with a key.
func (x *ends) place(k flowKey, e end) {
	if w := x.learner.flows[k]; w != nil {
		x.flows[w.index] = e
	} else {
		x.others[k] = e
	}
}

// show calls to with a sighting, unless it is of no connection.
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

// span returns the number of PSNs of a request; exact is false for a READ when the MTU is unknown.
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
