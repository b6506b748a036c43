package rciw

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/stream"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

var readForm = define(rule.Rule{
	ID: "RCIW-RD-001", Level: rule.Must,
	Title: "A READ request has 28 bytes, and the response fills the sink that it names, in order and not beyond",
	Source: rule.Source{Ref: "RFC 5040 4.4, 4.5", Requirement: "The request names sink STag and offset, size, source " +
		"STag and offset; the response is tagged with the sink's."},
	Needs: rule.TapRequester | rule.TapResponder, Stimulus: "READs",
	New: watching(func(w *watch) {
		r := reads{watch: w}
		w.sent, w.answered = r.request, r.response
	}),
})

// reads holds the READ requests that are not answered, oldest first.
type reads struct {
	*watch
	open []iwarp.ReadBody
	got  uint32 // bytes of the response to the oldest
}

func (r *reads) request(u *stream.Unit) {
	if !whole(u) || u.Segment.Opcode != iwarp.ReadRequest {
		return
	}
	r.Met()
	var body iwarp.ReadBody
	if err := body.Decode(u.Segment.Payload); err != nil || !u.Segment.Last {
		r.Failf(rule.Requester, "a READ request has %d bytes of body, want %d in one segment", len(u.Segment.Payload),
			iwarp.ReadBodyLen)
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
		r.Failf(rule.Responder, "a READ response of %d bytes; none expected, as no READ is open", n)
		return
	}
	b := &r.open[0]
	switch left := b.Len - r.got; {
	case s.STag != b.SinkSTag || s.TO != b.SinkTO+uint64(r.got):
		r.Failf(rule.Responder, "a READ response goes to STag %#x at %#x, want the sink, %#x at %#x", s.STag, s.TO,
			b.SinkSTag, b.SinkTO+uint64(r.got))
	case n > left || s.Last != (n == left):
		r.Failf(rule.Responder, "a READ response of %d bytes, last %v; %d bytes at most expected, last %v", n,
			s.Last, left, n >= left)
	}
	if r.got += n; s.Last {
		r.open, r.got = r.open[1:], 0
	}
}

var invalidSTag = define(rule.Rule{
	ID: "RCIW-TERM-001", Level: rule.Must,
	Title: "An invalid STag is answered by a Terminate with the right layer, type and code, and then " +
		"the connection closes",
	Source: rule.Source{Ref: "RFC 5040 4.8; RFC 5041 8.2", Requirement: "Of a WRITE, DDP reports a tagged buffer error, " +
		"of a READ request, RDMAP a remote protection error; both have the code invalid STag."},
	Needs: rule.Both | rule.Probes, Stimulus: "a WRITE or a READ request with an invalid STag",
	New: watching(func(w *watch) {
		t := termination{watch: w, stags: map[uint32]bool{}}
		t.notice = w.owes("an invalid STag drew no Terminate", func() bool { return t.said })
		t.end = w.owes("an invalid STag: the connection stays open after the Terminate",
			func() bool { return !t.said || w.ended })
		w.arrived, w.answered, w.told = t.arrived, t.answered, t.told
	}),
})

// termination tracks an invalid STag until the connection ends.
type termination struct {
	*watch
	stags       map[uint32]bool     // STags that the peer has declared, revoked ones included
	notice, end *rule.Obligation    // owed by the peer: a Terminate, and the end of the connection
	want        iwarp.TerminateBody // the expected Terminate
	said        bool                // a Terminate was sent
}

func (t *termination) told(e *trace.Event) {
	if e.Kind == trace.Probe && e.Name == "mr_rkey" {
		t.stags[uint32(e.Value)] = true
	}
}

func (t *termination) arrived(u *stream.Unit) {
	if t.notice.Owed() || t.said || t.ended || len(t.stags) == 0 || !whole(u) {
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
	t.Met()
	t.notice.Arise(t.now, 0)
	t.end.Arise(t.now, 0)
}

func (t *termination) answered(u *stream.Unit) {
	body, ok := terminate(u)
	if !ok {
		return
	}
	t.said = true
	if w := &t.want; t.notice.Owed() && (body.Layer != w.Layer || body.Type != w.Type || body.Code != w.Code) {
		t.Failf(rule.Responder, "Terminate with layer %d, type %d, code %d, want %d, %d, %d for this STag", body.Layer,
			body.Type, body.Code, w.Layer, w.Type, w.Code)
	}
}
