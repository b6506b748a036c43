package rule

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/shim"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Options of a Judge.
type Options struct {
	Features []string // features that both ends declare; rules that need another feature are NOT-APPLICABLE
	BlackBox bool     // an end reports nothing: a rule that needs reports of an endpoint is NOT-APPLICABLE
	Findings int      // findings kept per rule; 0 is defaultFindings
	Orders   *Orders  // the work that the Spec orders the endpoints to do; nil when unknown
	Ends     *[2]End  // the ends, by side; nil when both declare Features and accept every opcode
	Mixed    bool     // the ends are of different kinds: one has a scheme, or a part of one, that the other lacks
}

// End is the declaration of one end, where the two are different implementations.
type End struct {
	Features []string
	Accepts  func(roce.Opcode) bool // whether the end accepts an opcode outside the RC class; nil accepts none
}

// most returns the number of findings kept per rule.
func (j *Judge) most() int { return cmp.Or(j.opts.Findings, defaultFindings) }

// endsOf returns Options.Ends; nil for a nil Judge.
func endsOf(j *Judge) *[2]End {
	if j == nil {
		return nil
	}
	return j.opts.Ends
}

// roomOf returns the room that all windows share; nil, which is no limit, for a nil Judge.
func roomOf(j *Judge) *room {
	if j == nil {
		return nil
	}
	return &j.room
}

// tickOf returns the resolution of the time stamps; 0, for exact ones, for a nil Judge.
func tickOf(j *Judge) vtime.Duration {
	if j == nil {
		return 0
	}
	return j.header.Tick
}

// declared returns the features of one end.
func (o *Options) declared(side trace.Side) []string {
	if o.Ends == nil {
		return o.Features
	}
	return o.Ends[side&1].Features
}

// Judge runs rules over one trace. It is a trace.Viewer; trace.NewTimeline feeds it from records.
//
// Every connection has two half-conversations, one per requester. In each of them every rule has its own check,
// constructed when the first packet or work request of the half is seen. Packets and events of no connection go to a
// conversation with Index -1, in which only rules that see Foreign have a check.
type Judge struct {
	header  trace.Header
	rules   []Rule
	opts    Options
	halves  [][2]*half                // by connection and requester; nil until the first packet or work request
	plans   []*plan                   // one per set of vantage points among the halves that have started
	ports   [trace.WANHop + 1][2]Port // by hop and side
	stray   *half
	devices devices // the devices that report counters, by side, when a rule judges devices
	room    room    // shared by the windows of all halves
	alikes  alikes
	here    place
	seen    seen
	sight   Sight

	coded   [2]bool   // by requester: decoders are in front of the transports
	buffers shim.Ends // shared by the decoders of a side
	idle    [2]bool   // sides that reported that they have no work left

	unreadable unreadable
}

// The lists of checks, one per Class bit: the four trace.Points come first.
const (
	listForeign    = 4
	listReadAckOut = 5
	listReadAckIn  = 6
	listReleaseIn  = 7
	listCodedIn    = 8
	listRepairOut  = 9
	listRepairIn   = 10
	listRoute      = 11
	points         = 12
)

// NewJudge returns a judge of a trace with header h. It does not modify the rules or the connections of the header.
func NewJudge(h trace.Header, rules []Rule, opts Options) *Judge {
	j := &Judge{header: h, rules: rules, opts: opts, halves: make([][2]*half, len(h.Conns)),
		room: room{left: windowsLimit}}
	for hop := range j.ports {
		for side := range j.ports[hop] {
			j.ports[hop][side] = newPort(&h, trace.Side(side))
			if slices.Contains(opts.declared(trace.Side(side)), CodesBlocks) {
				j.ports[hop][side].repairs = repairsOf(&h, trace.Side(side))
			}
			j.ports[hop][side].queries = slices.Contains(opts.declared(trace.Side(side)), QueriesHost)
		}
	}
	for side := range j.coded {
		j.coded[side] = slices.Contains(opts.declared(trace.Side(side).Other()), CodesBlocks)
	}
	j.stray = &half{}
	j.stray.conv.reset(-1, trace.A, &trace.Conn{}, &[2]Port{})
	j.stray.conv.Between, j.stray.conv.Inferred = h.Between, h.Inferred
	j.devices.meet(j)
	return j
}

// half returns the half-conversation of a connection and a requester, and makes it when it does not exist yet. Its
// checks are constructed later by start, when the first PSN may be known.
func (j *Judge) half(conn int, req trace.Side) *half {
	h := j.halves[conn][req&1]
	if h == nil {
		h = j.begin(conn, req&1)
		j.halves[conn][req&1] = h
	}
	return h
}

// begin makes a half-conversation without checks.
func (j *Judge) begin(i int, side trace.Side) *half {
	h, conn := &half{}, &j.header.Conns[i]
	c := &h.conv
	c.reset(i, side, conn, &j.ports[conn.Hop])
	if twin := j.halves[i][side^1]; twin != nil {
		c.turns = twin.conv.turns
	}
	c.Alone = len(j.header.Conns) == 1
	c.Between, c.Inferred = j.header.Between, j.header.Inferred
	c.ByBox, c.AtBox = standsIn(conn.Hop, side, j.opts.declared(side))
	c.behind, c.owner = j.header.BehindLine(), j
	declared := j.opts.declared(side.Other()) // features of the responder
	c.responder.keep.reach = keepReach(c, declared)
	c.responder.keep.rising = slices.Contains(declared, KeepsNewest)
	c.rising = slices.Contains(j.opts.declared(side), KeepsNewest)
	c.responder.keep.direct = slices.Contains(declared, PlacesEarly)
	c.responder.tells = (j.header.Reports|told(&j.header, c.Index, side.Other()))&
		(trace.ReportCQE|trace.ReportReceived) != 0
	if j.coded[side] {
		j.interpose(h)
	}
	return h
}

// Sight implements trace.Viewer.
func (j *Judge) Sight(t *trace.Sight) {
	j.seen.note(t)
	j.unreadable.sight(&j.header, t)
	j.buffers.Expire(t.At)
	if t.Out {
		j.ports[j.header.On(t.Rec.Conn)][t.Tap&1].sent(t.At, t.Rec.WireBytes)
	}
	if j.header.Divided() {
		if j.route(t); j.passing(t) {
			return
		}
	}
	h, list := j.place(t)
	if h == j.stray && t.Rec.Packet.Opcode.OverIP() {
		return // a segment of a TCP stream of an unknown connection, from an unknown position on
	}
	if h.plan == nil {
		j.sight.Sight = *t
		h.open(&j.sight, list)
		j.start(h)
	}
	switch d := h.conv.decoderOf(t, list); {
	case list == listForeign, list >= listRepairOut:
		j.aside(h, list, t)
		switch {
		case d != nil && list == listRepairIn:
			d.Repair(t)
		case list == listRepairOut:
			h.conv.announces(t.Pkt)
			took(&h.conv, &j.sight)
		case list == listForeign && t.Rec.Packet.Opcode.OverIP():
			j.showPeer(t.Rec)
		}
	case d != nil:
		j.aside(h, listCodedIn, t)
		d.Arrive(t)
	default:
		if admits(&h.conv, t, list) {
			j.sight.Point = trace.Point(list)
		}
		j.pass(h, list, t, false)
		if list == int(trace.RequesterOut) && h.conv.Decoders[1] != nil {
			h.conv.Decoders[1].Ask(t.Pkt)
		}
	}
}

// aside shows a sight that does not change the state of the conversation.
func (j *Judge) aside(h *half, list int, t *trace.Sight) {
	j.sight.Sight = *t
	j.here = place{t.At, t.Index, t.Rec.From, t.Rec.Fate != trace.Injected,
		list == listForeign && answers(t.Rec)}
	j.sight.clear()
	h.show(list, &j.sight, AnyKind)
	j.devices.show(h, list, &j.sight)
}

// answers reports whether a frame that belongs to no half-conversation was meant as a response: it does not decode, and
// its opcode can be read.
func answers(r *trace.Record) bool { return r.Defect != "" && r.Packet.Opcode.IsResponse() }

// pass shows a sight of the transport to the checks and updates the conversation by it.
func (j *Judge) pass(h *half, list int, t *trace.Sight, recovered bool) {
	s := &j.sight
	s.Sight = *t
	if list == int(trace.ResponderOut) {
		h.conv.falls(t.Pkt)
	}
	if list == int(trace.ResponderOut) && h.conv.attests(t.Pkt) {
		j.release(h)
		s.Sight, s.Point = *t, trace.ResponderOut
	}
	j.here = place{at: t.At, record: t.Index}
	h.conv.observe(s)
	s.Recovered = recovered
	j.alikes.show(h, list, s)
	h.showSight(list, s, kindOf(&h.conv, s))
	j.devices.show(h, list, s)
	h.conv.update(s)
	if s.Legal {
		j.release(h)
	}
}

// release shows the requests that the responder kept out of order and whose turn has come.
func (j *Judge) release(h *half) {
	s := &j.sight
	s.Point, s.Tap, s.Out = trace.ResponderIn, h.conv.Req.Other(), false
	for h.conv.release(s) {
		j.here = place{at: s.At, record: s.Index}
		h.show(listReleaseIn, s, kindOf(&h.conv, s))
		h.conv.update(s)
	}
}

// showPeer shows a packet without BTH to the half-conversation of the other requester as well, if it exists, because
// only a check can tell a request from a response. There the packet has the points of a response.
func (j *Judge) showPeer(r *trace.Record) {
	if r.Conn < 0 || r.Conn >= len(j.halves) {
		return
	}
	h := j.halves[r.Conn][r.From&1^1]
	if h == nil && r.Packet.Opcode == roce.TCP {
		h = j.half(r.Conn, r.From.Other()) // a TCP connection has both directions from its first segment on
	}
	if h != nil {
		j.start(h)
		j.sight.Point += trace.ResponderOut
		h.show(listForeign, &j.sight, AnyKind)
	}
}

// place classifies a sight: it returns the half-conversation and the list of checks that see it. It reads the packet as
// sent, so that a corrupted copy goes to the same list as the original.
func (j *Judge) place(t *trace.Sight) (h *half, list int) {
	r := t.Rec
	o := r.Packet.Opcode
	if o == roce.LoWAR && j.speaks(r) {
		return j.placeRepair(t)
	}
	// packets of the communication manager are between QPs 1, not those of the connection
	management := r.Packet.DestQP == roce.CMQueuePair
	if r.Conn < 0 || r.Conn >= len(j.halves) || r.Defect != "" || management || !OfConnection(o) {
		j.sight.Point = trace.RequesterOut
		if !t.Out {
			j.sight.Point = trace.ResponderIn
		}
		if r.Conn < 0 || r.Conn >= len(j.halves) || management && r.Defect == "" {
			return j.stray, listForeign
		}
		return j.half(r.Conn, r.From), listForeign
	}
	switch {
	case o.IsRequest(), o.IsReadAck():
		h, j.sight.Point = j.half(r.Conn, r.From), trace.RequesterOut
	default:
		h, j.sight.Point = j.half(r.Conn, r.From.Other()), trace.ResponderOut
	}
	if !t.Out {
		j.sight.Point++
	}
	list = int(j.sight.Point)
	if o.IsReadAck() {
		list += listReadAckOut
	}
	return h, list
}

// Event implements trace.Viewer. An event is passed to both half-conversations of its connection that exist;
// Conversation.Mine tells which end reported it.
func (j *Judge) Event(e *trace.Event) {
	j.buffers.Expire(e.At)
	if j.here = (place{at: e.At, record: NoRecord}); e.Kind == trace.Idle {
		j.idle[e.Side&1] = true
		return
	}
	j.devices.tell(e)
	if e.Kind == trace.Counter || partial(&j.header, e) {
		return
	}
	if e.Conn < 0 || e.Conn >= len(j.halves) {
		j.report(j.stray, e)
		return
	}
	for _, side := range []trace.Side{trace.A, trace.B} {
		if begins(e, side) {
			j.half(e.Conn, side)
		}
	}
	for _, h := range j.halves[e.Conn] {
		if h != nil {
			j.report(h, e)
		}
	}
	if h := j.crossing(e.Conn); h != nil {
		h.tell(h.both, e)
	}
}

// partial reports whether e is a placement or a timer event in a trace whose header h does not declare that both ends
// report all of them. A rule that relies on the events before e would be misled when one end reports none, so such
// events are ignored.
func partial(h *trace.Header, e *trace.Event) bool {
	switch e.Kind {
	case trace.Store:
		return h.Reports&trace.ReportStores == 0
	case trace.Timer:
		return h.Reports&trace.ReportTimers == 0
	}
	return false
}

// begins reports whether e begins the half-conversation of requester side: work of the requester, a receive of its
// peer, or a Probe of either end.
func begins(e *trace.Event, side trace.Side) bool {
	switch e.Kind {
	case trace.Post, trace.CQE, trace.Count:
		return e.Side == side
	case trace.Receive, trace.Recv:
		return e.Side != side
	}
	return e.Kind == trace.Probe
}

func (j *Judge) report(h *half, e *trace.Event) {
	j.start(h)
	if h.conv.completes(e) {
		j.sight = Sight{Sight: trace.Sight{At: e.At, Rec: &trace.Record{Conn: e.Conn, From: h.conv.Req}}}
		j.release(h)
	}
	j.here = place{at: e.At, record: NoRecord}
	if h.plan.quiet {
		h.rouse(AnyKind)
	}
	h.tell(h.events, e)
	h.inform(e)
	h.conv.event(e)
}

// End implements trace.Viewer.
func (j *Judge) End(at vtime.Time) {
	j.toOrders()
	j.buffers.Expire(at)
	for h := range j.each {
		j.here = place{at: at, record: NoRecord}
		h.finish(at)
	}
	j.here = place{at: at, record: NoRecord}
	j.devices.finish(at)
}

// each yields the halves that exist, in the order of connections, then the one with Index -1.
func (j *Judge) each(yield func(*half) bool) {
	for i := range j.halves {
		for _, h := range j.halves[i] {
			if h != nil && !yield(h) {
				return
			}
		}
	}
	if j.stray.plan != nil {
		yield(j.stray)
	}
}

// Limit returns a note on comparisons left out because a limit was reached; "" when none was.
func (j *Judge) Limit() string {
	if !j.room.full {
		return ""
	}
	return fmt.Sprintf("limit: at most %d requests in flight are remembered over all connections; retransmissions of "+
		"older ones were not compared", windowsLimit)
}

// Verdicts returns one verdict per rule, in the order in which the rules were given.
func (j *Judge) Verdicts() []Verdict {
	j.alikes.countAll()
	all := make([]Verdict, len(j.rules))
	for i := range j.rules {
		all[i] = j.verdict(i)
	}
	return all
}

func (j *Judge) verdict(i int) Verdict {
	r := &j.rules[i]
	v := newVerdict(r)
	if reason := inapplicable(r, j.opts.Features); reason != "" {
		v.Status, v.Reason = NotApplicable, reason
		return v
	}
	if r.Device && j.devices == (devices{}) {
		v.Status, v.Reason = NotApplicable, "no end reports the counters of its device"
		return v
	}
	if !r.built() {
		v.Status, v.Reason = Inconclusive, "not judged: "+r.Unbuilt
		return v
	}
	var missing Vantage
	var doubt, broken remark
	seen := false
	for _, p := range j.plans {
		if !p.shows.stray {
			missing |= p.missing[i]
		}
		if p.doubted[i] {
			doubt = doubt.first(p.doubt)
		}
		if a := p.of(r); a != nil {
			v.add(a)
			doubt, broken = doubt.first(a.doubt), broken.first(a.broken)
			seen = seen || !p.shows.stray
		}
	}
	v.remark(doubt, broken)
	if seen && j.header.Divided() {
		missing = 0 // the vantage points that one hop lacks, the other one has
	}
	v.settle(r, missing, j.most())
	if inside := missing & Inside; j.opts.BlackBox && inside != 0 && v.Met == 0 && v.Status == Inconclusive {
		v.Status, v.Reason = NotApplicable, "a black box does not show "+inside.String()
	}
	return v
}
