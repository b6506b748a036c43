package merge

import (
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// OneTap makes a trace of the frames of one tap and plays it into s. There is no tap at the other end, so every packet
// has one time, and its fate is unknown. Times count from the first frame. If the header says that the tap is between
// the sides, every packet is shown as sent when it passed. Unrelated traffic to the RoCEv2 port is left out, unless it
// is a packet with a good ICRC.
func OneTap(h *trace.Header, tap trace.Side, sources []capture.Source, s trace.Sink) error {
	atlas := newAtlas(h)
	l := capture.NewLanes(sources, time.Time{})
	r := trace.Record{Fate: trace.Unknown}
	var headers roce.Frame
	var end vtime.Time
	for n := l.Next(); n != nil; n = l.Next() {
		r.Sent, r.Recv = vtime.Never, vtime.Never
		n.Frame.Fill(&r, &headers)
		where := atlas.place(&headers, &r)
		r.Conn, r.From = where.conn, where.from
		if atlas.strangers(&headers, &r) || n.Frame.AnotherPort && !atlas.sends(&headers, &r) {
			continue
		}
		switch {
		case h.Between: // the direction in which a frame crossed the host of the tap says nothing about the sides
		case n.Frame.Way == capture.Outward:
			r.From = tap
		case n.Frame.Way == capture.Inward:
			r.From = tap.Other()
		// the damage may be in its addresses, not in the port
		case where.conn < 0 && r.ICRC == trace.Bad && !atlas.crosses(&headers):
			r.From = tap.Other()
		}
		if h.Between || r.From == tap {
			r.Sent = n.At
		} else {
			r.Recv = n.At
		}
		end = n.At
		s.Packet(&r)
	}
	s.End(end)
	return l.Err()
}
