package rule

import "github.com/rdma-gauntlet/gauntlet/harness/trace"

// A box in the path divides a connection in two hops, and each hop is a conversation of its own, judged by every rule
// as if it were the whole path: on the LAN the box stands in for the responder, on the WAN for the requester. That
// holds for the requests of side A. Those of B, and the responses to them, only pass the box, which is the end of
// nobody's conversation: each hop then shows one end only.

// onHop takes from what a trace shows of c that which its hop does not.
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

// passing reports a sight, at the box, of what only passes it.
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

// routed reports a half whose checks may see both hops: that of A's requests on the first.
func (j *Judge) routed(h *half) bool {
	return h != j.stray && h.conv.Req == trace.A && j.header.On(h.conv.Index) == trace.LANHop
}

// crossing returns that half of a connection of a divided path, begun; nil when the path is whole.
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

// route shows a sight of either hop to the checks that see both.
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
