package rule

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// HasBox is the feature of transports with a box in the path, which acknowledges in place of the far end.
const HasBox = "pack"

// A box in the path divides a connection into two hops. For requests of side A each hop is a conversation of its own,
// judged by every rule like a whole path: on the LAN the box takes the responder's place, on the WAN the requester's.
// Requests of side B and their responses only pass through the box, which is no end of their conversation: each hop
// shows one end only.

// onHop removes from v, the vantage points on c over the whole path, those that the hop of c does not have.
func onHop(v Vantage, hop trace.Hop, c *Conversation) Vantage {
	box, divided := hop.Box()
	switch {
	case !divided:
		return v
	case c.Req == trace.B && box == trace.B:
		return v &^ (TapRequester | Fates | Completions | Done | Ordered | Flushed | Timers | Assigned)
	case c.Req == trace.B:
		return v &^ (TapResponder | Fates | Stores | Checked | Changes |
			Image | Probes | Regions | Datagrams | Receives | Posted)
	case box == trace.B:
		return v &^ (Stores | Checked | Changes | Image | Receives | Posted)
	}
	return v &^ (Completions | Done | Ordered | Flushed | Timers | Assigned)
}

// standsIn reports at which ends of the conversation of a requester a box stands in, on the hop that the trace names. A
// capture from elsewhere names none: if its transport, of these features, has a box, the tap may be at the box, on
// either hop.
func standsIn(hop trace.Hop, req trace.Side, features []string) (by, at bool) {
	box, divided := hop.Box()
	if !divided {
		may := slices.Contains(features, HasBox)
		return may, may
	}
	return req == trace.A && box == trace.A, req == trace.A && box == trace.B
}

// OtherHop reports whether the trace has both hops of a path with a box.
func OtherHop(c *Context) bool { return c.hop() != trace.Whole }

// passing reports whether a sight at the box is of a packet that only passes through it.
func (j *Judge) passing(t *trace.Sight) bool {
	r := t.Rec
	box, divided := j.header.On(r.Conn).Box()
	if !divided || t.Tap != box {
		return false
	}
	requester := r.From
	if r.Packet.Opcode.IsResponse() {
		requester ^= 1
	}
	return requester == trace.B
}

// routed reports whether the checks of a half may see both hops: it is the half of A's requests on the first hop.
func (j *Judge) routed(h *half) bool {
	return h != j.stray && h.conv.Req == trace.A && j.header.On(h.conv.Index) == trace.LANHop
}

// crossing returns the routed half of a connection, started; nil when the path is not divided.
func (j *Judge) crossing(conn int) *half {
	if j.header.On(conn) == trace.WANHop {
		conn = j.header.Twin(conn)
	}
	if j.header.On(conn) != trace.LANHop {
		return nil
	}
	h := j.half(conn, trace.A)
	j.start(h)
	return h
}

// route shows a sight on either hop to the checks that see both hops.
func (j *Judge) route(t *trace.Sight) {
	h := j.crossing(t.Rec.Conn)
	if h == nil || len(h.plan.sights[listRoute]) == 0 {
		return
	}
	s := &j.sight
	s.Sight = *t
	s.clear()
	j.here = place{at: t.At, record: t.Index}
	h.show(listRoute, s, AnyKind)
}
