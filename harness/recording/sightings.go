package recording

import (
	"errors"
	"math"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/recording/evidence"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// sightingLimit bounds the sightings that are kept; the frames of larger captures are read again.
const sightingLimit = 1 << 21

// sightings holds the sightings of all frames; none when there are too many.
type sightings struct {
	chunks   [][]evidence.Sighting
	count    int
	unplaced []flowKey         // keys of frames of no flow at the time of the frame
	spare    evidence.Sighting // the latest, when there are too many
}

// over reports whether there are too many sightings.
func (l *sightings) over() bool { return l.count > sightingLimit || len(l.unplaced) > flowLimit }

// add returns the place of a further sighting, which is kept while there is room.
func (l *sightings) add() *evidence.Sighting {
	const chunk = 1 << 10
	l.count++
	if l.over() {
		l.chunks, l.unplaced, l.count = nil, l.unplaced[:0], sightingLimit+1
		return &l.spare
	}
	if n := len(l.chunks); n == 0 || len(l.chunks[n-1]) == cap(l.chunks[n-1]) {
		l.chunks = append(l.chunks, make([]evidence.Sighting, 0, min(chunk, max(16, 2*l.count))))
	}
	last := &l.chunks[len(l.chunks)-1]
	*last = (*last)[:len(*last)+1]
	return &(*last)[len(*last)-1]
}

// sight sets the sighting of the frame whose headers were decoded last; w is its flow, nil if there is none, since a
// damaged frame begins no flow.
func (l *learner) sight(s *evidence.Sighting, n *capture.Lane, w *flow, sound bool) {
	f, p := &n.Frame, &l.headers.Packet
	s.At, s.PSN, s.SACK, s.MSN, s.Length = n.At, p.PSN, p.SACK.PSN, p.AETH.MSN, p.RETH.DMALen
	s.Payload, s.Opcode, s.Syndrome = uint16(min(p.Len, math.MaxUint16)), p.Opcode, p.AETH.Syndrome
	s.Way, s.AckReq, s.Headed, s.Sound = f.Way, p.AckReq, f.Headed(), sound
	s.Port, s.ID, s.Mark = l.headers.SrcPort, l.headers.ID, evidence.MarkOf(p)
	if f.HasTap {
		s.Tap = f.Tap
	}
	if p.Opcode == roce.LoWAR {
		s.PSN, s.MSN, s.Length = p.Repair.Base, psn.MSN(p.Repair.Type)<<8|psn.MSN(p.Repair.ISN), evidence.Unit(p)
	}
	if w != nil {
		s.Flow = int32(w.index)
		return
	}
	l.seen.unplaced = append(l.seen.unplaced, keyOf(&l.headers))
	s.Flow = -int32(len(l.seen.unplaced))
}

// show calls to with the sightings of the frames of connections, in time order; if the sightings were not kept, it
// reads the captures again.
func (l *learner) show(h *trace.Header, as anew, to func(*evidence.Sighting, evidence.End)) error {
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
			if n.Frame.AnotherPort || h.Decode(n.Frame.Raw) != nil {
				return
			}
			l.seen.unplaced = l.seen.unplaced[:0]
			var s evidence.Sighting
			l.sight(&s, n, l.find(h), n.Frame.Check(h) || l.seals.never[h.Src])
			x.show(&s, to)
		})
		return err
	})
}

// eachFrame calls show with the frames of the sources in time order, and returns the lanes. A capture that is cut short
// is no error.
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

// ends finds the connection of a sighting.
type ends struct {
	learner *learner
	flows   []evidence.End           // by index in learner.order
	others  map[flowKey]evidence.End // ends of connections for keys without a flow
}

// ends returns the ends of the connections of a header.
func (l *learner) ends(h *trace.Header) *ends {
	x := &ends{l, make([]evidence.End, len(l.order)), map[flowKey]evidence.End{}}
	for i := range x.flows {
		x.flows[i].Conn = -1
	}
	for i := range h.Conns {
		for _, s := range []trace.Side{trace.A, trace.B} {
			from, to := &h.Conns[i].Ends[s], &h.Conns[i].Ends[s.Other()]
			x.place(flowKey{from.Addr, to.Addr, to.QP.QPN}, evidence.End{Conn: int32(i), From: s})
			for _, qp := range to.Misaddressed {
				x.place(flowKey{from.Addr, to.Addr, qp}, evidence.End{Conn: int32(i), From: s})
			}
		}
	}
	return x
}

// place sets the end of the frames with a key.
func (x *ends) place(k flowKey, e evidence.End) {
	if w := x.learner.flows[k]; w != nil {
		x.flows[w.index] = e
	} else {
		x.others[k] = e
	}
}

// show calls to with a sighting, unless it is of no connection.
func (x *ends) show(s *evidence.Sighting, to func(*evidence.Sighting, evidence.End)) {
	var e evidence.End
	known := true
	if s.Flow >= 0 {
		e = x.flows[s.Flow]
	} else if k := x.learner.seen.unplaced[-1-s.Flow]; x.learner.flows[k] != nil {
		e = x.flows[x.learner.flows[k].index]
	} else {
		e, known = x.others[k]
	}
	if known && e.Conn >= 0 {
		to(s, e)
	}
}
