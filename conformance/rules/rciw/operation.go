package rciw

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/stream"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var readForm = define(rule.Rule{
	ID: "RCIW-RD-001", Level: rule.Must,
	Title: "A READ request has 28 bytes, and the response goes to the sink that it names, in order and no further",
	Source: rule.Source{Ref: "RFC 5040 4.4, 4.5", Requirement: "The request names sink STag and offset, size, source STag and offset; the response is tagged with the " +
		"sink's."},
	Needs: rule.TapRequester | rule.TapResponder, Stimulus: "READs",
	New: func(c *rule.Context) rule.Check {
		r := reads{c: c}
		w := newWatch(c)
		w.sent, w.answered = r.request, r.response
		return rule.Check{Sight: w.sight}
	},
})

// reads are the READ requests that are not answered, oldest first.
type reads struct {
	c    *rule.Context
	open []iwarp.ReadBody
	got  uint32 // of the oldest
}

func (r *reads) request(u *stream.Unit) {
	if !whole(u) || u.Segment.Opcode != iwarp.ReadRequest {
		return
	}
	r.c.Met()
	var body iwarp.ReadBody
	if err := body.Decode(u.Segment.Payload); err != nil || !u.Segment.Last {
		r.c.Failf(rule.Requester, "a READ request has %d bytes of body, want %d in one segment", len(u.Segment.Payload), iwarp.ReadBodyLen)
		return
	}
	r.open = append(r.open, body)
}

func (r *reads) response(u *stream.Unit) {
	if !whole(u) || u.Segment.Opcode != iwarp.ReadResp {
		return
	}
	s, n := &u.Segment, uint32(len(u.Segment.Payload))
	if len(r.open) == 0 {
		r.c.Failf(rule.Responder, "a READ response of %d bytes; none expected, as no READ is open", n)
		return
	}
	b := &r.open[0]
	switch left := b.Len - r.got; {
	case s.STag != b.SinkSTag || s.TO != b.SinkTO+uint64(r.got):
		r.c.Failf(rule.Responder, "a READ response goes to STag %#x at %#x, want the sink, %#x at %#x", s.STag, s.TO, b.SinkSTag, b.SinkTO+uint64(r.got))
	case n > left || s.Last != (n == left):
		r.c.Failf(rule.Responder, "a READ response of %d bytes, last %v; %d bytes at most expected, last %v", n, s.Last, left, n >= left)
	}
	if r.got += n; s.Last {
		r.open, r.got = r.open[1:], 0
	}
}

var invalidSTag = define(rule.Rule{
	ID: "RCIW-TERM-001", Level: rule.Must,
	Title: "An STag that is not valid is answered by a Terminate with the right layer, type and code, and then the connection closes",
	Source: rule.Source{Ref: "RFC 5040 4.8; RFC 5041 8.2", Requirement: "Of a WRITE, DDP reports a tagged buffer error, of a READ request, RDMAP a remote protection error; both " +
		"have the code invalid STag."},
	Needs: rule.Both | rule.Probes, Stimulus: "a WRITE or a READ request with an STag that nobody has",
	New: func(c *rule.Context) rule.Check {
		t := termination{c: c, w: newWatch(c)}
		t.w.arrived, t.w.answered = t.arrived, t.answered
		return rule.Check{Sight: t.sight, Event: t.event, End: t.end}
	},
})

// termination follows an STag that is not valid to the end of the connection.
type termination struct {
	c      *rule.Context
	w      *watch
	stags  map[uint32]bool // that the peer declares, and what it has revoked stays known
	found  bool
	want   iwarp.TerminateBody
	at     vtime.Time
	record uint64
	said   bool
	now    *rule.Sight
}

func (t *termination) sight(s *rule.Sight) {
	t.now = s
	t.w.sight(s)
}

func (t *termination) event(e *trace.Event) {
	if e.Kind == trace.Probe && e.Name == "mr_rkey" && !t.c.Mine(e) {
		if t.stags == nil {
			t.stags = map[uint32]bool{}
		}
		t.stags[uint32(e.Value)] = true
	}
}

func (t *termination) arrived(u *stream.Unit) {
	if t.found || t.said || len(t.stags) == 0 || !whole(u) {
		return
	}
	var body iwarp.ReadBody
	switch s := &u.Segment; {
	case s.Opcode == iwarp.Write && len(s.Payload) > 0 && !t.stags[s.STag]:
		t.want = iwarp.TerminateBody{Layer: iwarp.LayerDDP, Type: 1}
	case s.Opcode == iwarp.ReadRequest && body.Decode(s.Payload) == nil && body.Len > 0 && !t.stags[body.SrcSTag]:
		t.want = iwarp.TerminateBody{Layer: iwarp.LayerRDMAP, Type: 1}
	default:
		return
	}
	t.c.Met()
	t.found, t.at, t.record = true, t.now.At, t.now.Index
}

func (t *termination) answered(u *stream.Unit) {
	body, ok := terminate(u)
	if !ok {
		return
	}
	if t.said = true; !t.found {
		return
	}
	if w := &t.want; body.Layer != w.Layer || body.Type != w.Type || body.Code != w.Code {
		t.c.Failf(rule.Responder, "Terminate with layer %d, type %d, code %d, want %d, %d, %d for this STag", body.Layer, body.Type, body.Code, w.Layer, w.Type, w.Code)
	}
}

func (t *termination) end(at vtime.Time) {
	switch {
	case !t.found || at.Sub(t.at) <= reaction:
	case !t.said:
		t.c.FailAt(t.at, t.record, rule.Responder, "an STag that nobody has: a Terminate expected, none came")
	case t.w.lastWords == vtime.Never:
		t.c.FailAt(t.at, t.record, rule.Responder, "an STag that nobody has: the end of the connection expected behind the Terminate, and it stays open")
	}
}
