package pack

import (
	"net/netip"
	"slices"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// where says at which port of the box a packet was seen, and which way it went. Requests are those of side A, which the
// box accelerates; what B asks for, and the answers to it, are elsewhere.
type where uint8

const (
	elsewhere  where = iota
	fromLocal        // a request arrives from A
	toLocal          // a response leaves for A
	toRemote         // a request leaves for B
	fromRemote       // a response arrives from B
	setUp            // a message of the communication manager, at the box
)

// path follows one flow through the box by its four kinds of packets. A check sees a packet before path has moved past it.
type path struct {
	c     *rule.Context
	begun bool
	first psn.PSN // of Local's requests
	exp   psn.PSN // next in order from Local
	max   psn.PSN // next that never left for Remote
	una   psn.PSN // oldest that Remote has not acknowledged, at the box
	acked psn.PSN // oldest that Local has not been told of
	count int     // messages before exp
	base  psn.MSN // of the responder when the flow began
	based bool    // base is known
	shown psn.MSN // newest MSN that Local was shown
	asked psn.PSN // behind the newest request that wants an ACK and may be told of
	gap   bool    // a request came ahead of exp and exp has not come
	naked bool    // and Local has been told so
	late  []late  // gaps that have closed before their NAK has left
	real  bool    // Remote has answered something
	stuck psn.PSN // the latest una that left for Remote again,
	tries int     // and how often
	fatal bool    // a fatal NAK went either way, or Remote's QP failed by requests of its own
	holds []hold
	slots []request
	cm    management
	probe map[string]int64
	told  map[string]bool
}

// hold is a READ or atomic that is not answered: its PSNs, the response that Remote owes next, the one that Local misses
// next, and what Local may be told of before it.
type hold struct {
	first, end, got, next, asked psn.PSN
	since                        psn.PSN // where Local's latest request for it begins
	left                         psn.PSN // behind the data that left last for Local, missed or not
	again                        backlog // since Local has asked again
}

// backlog is what may still wait for the line to Local from before something happened: answers to requests that had come by then.
type backlog struct {
	since vtime.Time
	end   psn.PSN // behind those requests
}

// outlives reports an answer that acknowledges what is before a PSN and has waited for the line since before b.
func (p *path) outlives(b backlog, covered psn.PSN, now vtime.Time) bool {
	return covered.LessEq(b.end) && p.c.PeerPort.Busy(b.since, now)
}

// late is a gap that has closed, and when: its NAK may be waiting for the line to Local.
type late struct {
	psn psn.PSN
	at  vtime.Time
}

// mostLate bounds the gaps whose NAKs are looked out for.
const mostLate = 64

// request is one PSN that Local has used, with what is compared later.
type request struct {
	used    bool
	asked   bool // Local has sent a request with this PSN: packet and sum are its
	psn     psn.PSN
	end     psn.PSN
	packet  roce.Packet // without payload
	sum     uint32
	count   int // messages that have ended with it
	sent    int // times that it left for Remote
	at      vtime.Time
	size    int         // bytes of the frame
	ack     roce.Packet // the pseudo-ACK that named it, when hasACK
	hasACK  bool
	floor   psn.MSN  // newest MSN that Local had seen before it
	address address  // of that
	data    answer   // the latest response of Remote with this PSN
	before  []answer // others, which may still wait for the line to Local
}

// answer is a READ response or atomic acknowledgement as it arrived from Remote.
type answer struct {
	seen   bool
	opcode roce.Opcode
	len    int
	sum    uint32
	result uint64
	at     vtime.Time
}

// same reports equal data.
func (a *answer) same(b *answer) bool {
	return a.len == b.len && a.sum == b.sum && a.result == b.result
}

// management is what set-up messages have told.
type management struct {
	asked, connected, left bool
	leaving                backlog // since the DREQ went to Remote
	fromA                  bool    // A asked
	reqStart, repStart     psn.PSN // as in the messages
	local, remote          uint32
	reqQPN                 uint32
}

func newPath(c *rule.Context) *path {
	return &path{c: c, probe: map[string]int64{}, told: map[string]bool{}}
}

// at returns where a packet was seen.
func (p *path) at(s *rule.Sight) where {
	lan, o := s.Rec.Conn == p.c.Index, s.Pkt.Opcode
	atBox := s.Out == (s.Rec.From == trace.B) // on the LAN the box is B
	if !lan {
		atBox = s.Out == (s.Rec.From == trace.A)
	}
	switch {
	case !atBox || !s.Intact():
		return elsewhere
	case s.Pkt.DestQP == roce.CMQueuePair && o == roce.UDSendOnly:
		return setUp
	case o.Class() != roce.ClassRC:
		return elsewhere
	case lan && o.IsRequest() && s.Rec.From == trace.A:
		return fromLocal
	case lan && o.IsResponse() && s.Rec.From == trace.B:
		return toLocal
	case !lan && o.IsRequest() && s.Rec.From == trace.A:
		return toRemote
	case !lan && o.IsResponse() && s.Rec.From == trace.B:
		return fromRemote
	}
	return elsewhere
}

// slotLimit bounds the PSNs that are remembered.
const slotLimit = 1 << 18

// slot returns the place of a PSN in a ring that grows with the span in flight.
func (p *path) slot(x psn.PSN) *request {
	for need := x.Sub(p.una) + 64; need > len(p.slots) && len(p.slots) < slotLimit; {
		old := p.slots
		p.slots = make([]request, max(256, 2*len(old)))
		for i := range old {
			if old[i].used {
				p.slots[int(old[i].psn)&(len(p.slots)-1)] = old[i]
			}
		}
	}
	return &p.slots[int(x)&(len(p.slots)-1)]
}

// find returns what is known of a PSN; nil when nothing is.
func (p *path) find(x psn.PSN) *request {
	if len(p.slots) == 0 {
		return nil
	}
	if r := &p.slots[int(x)&(len(p.slots)-1)]; r.used && r.psn == x {
		return r
	}
	return nil
}

// held returns the READ or atomic whose PSNs hold x.
func (p *path) held(x psn.PSN) *hold {
	for i := range p.holds {
		if h := &p.holds[i]; x.In(h.first, h.end) {
			return h
		}
	}
	return nil
}

// eligible returns the PSN behind the newest request that Local may be told of.
func (p *path) eligible() psn.PSN {
	if len(p.holds) > 0 {
		return p.holds[0].asked
	}
	return p.asked
}

// paper reports a box that keeps nothing, which the rules about its buffer do not fit.
func (p *path) paper() bool { return p.c.Attr.Params["buffer"] == "0" }

// spent reports whether the box has sent the oldest request that Remote has not acknowledged again as often as it may.
func (p *path) spent() bool {
	most := retries
	if n, err := strconv.Atoi(p.c.Attr.Params["wan_retry"]); err == nil {
		most = n
	}
	return most == 0 || p.stuck == p.una && p.tries >= most
}

// retries is how often the box sends a request again when it is not told.
const retries = 7

// mayBeFull reports whether the buffer may hold more than the box may promise: as it tells, or where it does not by what Remote
// has not acknowledged.
func (p *path) mayBeFull() bool {
	if p.told["buf_bytes"] {
		return p.probe["buf_bytes"] > p.probe["buffer"]
	}
	return p.c.Overfills(p.exp.Sub(p.una))
}

// update moves past a packet.
func (p *path) update(s *rule.Sight, w where) {
	switch w {
	case fromLocal:
		p.requested(s)
	case toLocal:
		p.answered(s)
	case toRemote:
		p.forwarded(s)
	case fromRemote:
		p.acknowledged(s)
	case setUp:
		p.managed(s)
	}
}

// requested takes a request of Local.
func (p *path) requested(s *rule.Sight) {
	x := s.Pkt.PSN
	if !p.begun || !p.cm.connected && !p.based && x.Less(p.first) {
		p.begin(x)
	}
	switch d := x.Sub(p.exp); {
	case d > 0:
		p.naked = p.naked && p.gap
		p.gap = true
		return
	case d < 0:
		if h := p.held(x); h != nil {
			p.askedAgain(h, x, s.At)
		}
		if s.Pkt.Opcode.IsRead() {
			p.repeated(s)
		}
		return
	}
	if p.gap && !p.naked && len(p.late) < mostLate {
		p.late = append(p.late, late{x, s.At})
	}
	p.gap = false
	o, n := s.Pkt.Opcode, 1
	if o.IsRead() {
		n = max(1, p.c.Packets(s.Pkt.RETH.DMALen))
	}
	if o.EndsMessage() {
		p.count++
	}
	p.exp = x.Add(n)
	r := p.slot(x)
	*r = request{used: true, asked: true, psn: x, end: p.exp, packet: *s.Pkt, sum: s.Sum, count: p.count, at: s.At, size: s.Rec.WireBytes - aroundFrame}
	r.packet.Payload = nil
	switch {
	case o.IsRead(), o.IsAtomic():
		p.holds = append(p.holds, hold{first: x, end: p.exp, got: x, next: x, asked: p.asked, since: x, left: x})
	case s.Pkt.AckReq:
		p.asked = p.exp
	}
}

// askedAgain takes a request for what is left of h. Of several, answers may wait since before the first.
func (p *path) askedAgain(h *hold, x psn.PSN, at vtime.Time) {
	if x.Less(h.next) {
		h.next, h.since = x, x
	}
	if !p.c.PeerPort.Busy(h.again.since, at) {
		h.again.since = at
	}
	h.again.end = p.exp
}

// repeated notes a READ that Local sends again, perhaps for the rest of its data alone.
func (p *path) repeated(s *rule.Sight) {
	r := p.slot(s.Pkt.PSN)
	if !r.used || r.psn != s.Pkt.PSN {
		*r = request{used: true, psn: s.Pkt.PSN, end: s.Pkt.PSN.Next(), count: p.count}
	}
	r.asked, r.packet, r.sum = true, *s.Pkt, s.Sum
	r.packet.Payload = nil
}

// aroundFrame is what layer 1 adds to the bytes of a frame: FCS, preamble and gap.
const aroundFrame = 24

// begin sets all PSNs to the first.
func (p *path) begin(x psn.PSN) {
	p.begun, p.first, p.exp, p.max, p.una, p.acked, p.asked = true, x, x, x, x, x, x
	p.count, p.tries, p.holds, p.gap, p.late, p.slots = 0, 0, nil, false, nil, nil
}

// answered takes a response on its way to Local.
func (p *path) answered(s *rule.Sight) {
	if !p.begun {
		return
	}
	x, o, floor := s.Pkt.PSN, s.Pkt.Opcode, p.shown
	if rule.HasAETH(o) && p.shown.Less(s.Pkt.AETH.MSN) {
		p.shown = s.Pkt.AETH.MSN
	}
	if o != roce.Acknowledge {
		p.given(x)
		return
	}
	switch a := s.Pkt.AETH.Syndrome; {
	case a.IsACK():
		p.acked = psn.Max(p.acked, x.Next())
		if r := p.find(x); r != nil && !r.hasACK {
			r.hasACK, r.ack, r.floor, r.address = true, *s.Pkt, floor, addressOf(s.Raw)
		}
	case rule.IsFatal(a):
		p.fatal = true
	case a == roce.SyndromePSNSeqErr:
		p.acked = psn.Max(p.acked, x)
		p.naked = p.naked || p.gap && x == p.exp
		p.late = slices.DeleteFunc(p.late, func(l late) bool { return l.psn == x })
	}
}

// given takes data of a READ or atomic on their way to Local, and forgets what is answered in full.
func (p *path) given(x psn.PSN) {
	if h := p.held(x); h != nil {
		if x.LessEq(h.left) {
			h.left = x.Next()
		}
		if x == h.next {
			h.next = x.Next()
			p.acked = psn.Max(p.acked, h.next)
		}
	}
	for len(p.holds) > 0 && p.holds[0].next == p.holds[0].end {
		p.holds = p.holds[:copy(p.holds, p.holds[1:])]
	}
}

// waited reports a NAK that leaves after what it asks for has come: the line was busy all the while, and it is said once.
func (p *path) waited(s *rule.Sight) bool {
	p.late = slices.DeleteFunc(p.late, func(l late) bool { return !p.c.PeerPort.Busy(l.at, s.At) })
	return slices.ContainsFunc(p.late, func(l late) bool { return l.psn == s.Pkt.PSN })
}

// forwarded takes a request on its way to Remote.
func (p *path) forwarded(s *rule.Sight) {
	x := s.Pkt.PSN
	if x == p.una && x.Less(p.max) {
		if p.stuck != x {
			p.stuck, p.tries = x, 0
		}
		p.tries++
	}
	if r := p.find(x); r != nil {
		r.sent++
		p.max = psn.Max(p.max, r.end)
	}
}

// acknowledged takes a response of Remote.
func (p *path) acknowledged(s *rule.Sight) {
	x, o := s.Pkt.PSN, s.Pkt.Opcode
	p.real = true
	if p.begun && o != roce.Acknowledge {
		p.slotData(s)
	}
	if !p.begun || !x.In(p.una, p.max) {
		return
	}
	if o != roce.Acknowledge {
		if h := p.owed(); h != nil && x == h.got { // data of a later READ tell that this one's are lost
			h.got = x.Next()
			p.una = psn.Max(p.una, h.got)
		}
		return
	}
	switch a := s.Pkt.AETH.Syndrome; {
	case a.IsACK():
		if r := p.find(x); r != nil && !p.based {
			p.based, p.base = true, s.Pkt.AETH.MSN.Add(-r.count)
		}
		p.reach(x.Next())
	case rule.IsFatal(a):
		p.reach(x)
		p.fatal = true
	default:
		p.reach(x)
	}
}

// owed is the first READ or atomic whose data have not all come; nil when there is none.
func (p *path) owed() *hold {
	for i := range p.holds {
		if h := &p.holds[i]; h.got != h.end {
			return h
		}
	}
	return nil
}

// reach moves una, but not past a READ whose data have not come.
func (p *path) reach(x psn.PSN) {
	if h := p.owed(); h != nil && h.got.Less(x) {
		x = h.got
	}
	p.una = psn.Max(p.una, x)
}

// skips reports an acknowledgement of x that leaves a READ before it without its data: an implied NAK (IBTA 9.7.5.1).
func (p *path) skips(x psn.PSN) bool {
	h := p.owed()
	return h != nil && h.got.LessEq(x)
}

// slotData remembers the latest data of Remote for a PSN.
func (p *path) slotData(s *rule.Sight) {
	r := p.slot(s.Pkt.PSN)
	if !r.used || r.psn != s.Pkt.PSN {
		*r = request{used: true, psn: s.Pkt.PSN, end: s.Pkt.PSN.Next(), count: p.count}
	}
	was := r.data
	r.data = answer{true, s.Pkt.Opcode, s.Pkt.Len, s.Sum, s.Pkt.Result, s.At}
	r.before = slices.DeleteFunc(r.before, func(a answer) bool {
		return !p.c.PeerPort.Busy(a.at, s.At) || a.same(&was) && a.opcode == was.opcode
	})
	if was.seen && len(r.before) < mostAnswers {
		r.before = append(r.before, was)
	}
}

// passed finds the response of Remote that a response for Local passes on: the latest, or one that has waited for the line since.
func (p *path) passed(r *request, now vtime.Time, match func(*answer) bool) bool {
	return match(&r.data) || slices.ContainsFunc(r.before, func(a answer) bool { return p.c.PeerPort.Busy(a.at, now) && match(&a) })
}

// mostAnswers bounds the responses with one PSN that are remembered.
const mostAnswers = 16

// managed takes a set-up message where it enters or leaves the box.
func (p *path) managed(s *rule.Sight) {
	_, m, err := roce.DecodeCM(s.Pkt.Payload)
	if err != nil {
		p.cm.asked = true // a message whose content this trace does not keep
		return
	}
	switch m := m.(type) {
	case *roce.REQ:
		if !s.Out {
			p.cm = management{asked: true, fromA: s.Rec.From == trace.A, reqStart: m.StartingPSN, reqQPN: m.QPN}
		}
	case *roce.REP:
		if !s.Out && p.cm.asked && !p.cm.connected {
			p.cm.connect(m)
			p.begin(p.start())
			p.based, p.base, p.shown, p.fatal = true, 0, 0, false
		}
	case *roce.DREQ:
		if s.Out && !p.cm.left {
			p.cm.left, p.cm.leaving = true, backlog{s.At, p.exp}
		}
	}
}

// connect completes what a REQ began.
func (m *management) connect(rep *roce.REP) {
	m.connected, m.repStart, m.local, m.remote = true, rep.StartingPSN, m.reqQPN, rep.QPN
	if !m.fromA {
		m.local, m.remote = rep.QPN, m.reqQPN
	}
}

// start is the first PSN of Local: in the message that Remote sent (IBTA 12.6.5, 12.6.8).
func (p *path) start() psn.PSN {
	if p.cm.fromA {
		return p.cm.repStart
	}
	return p.cm.reqStart
}

// event takes what the box tells of itself.
func (p *path) event(e *trace.Event) {
	p.fatal = p.fatal || e.Kind == trace.Fatal && e.Side == trace.B
	if p.ofBox(e) && (e.Kind == trace.Probe || e.Kind == trace.Count) {
		p.probe[e.Name], p.told[e.Name] = e.Value, true
	}
}

// ofBox reports an event of the box: of the end A of the second hop.
func (p *path) ofBox(e *trace.Event) bool { return e.Side == trace.A && e.Conn != p.c.Index }

// psn returns a variable of the box that is a PSN.
func (p *path) psn(name string) (psn.PSN, bool) {
	return psn.New(uint32(p.probe[name])), p.told[name]
}

// address is where a frame comes from and goes to.
type address struct {
	src, dst     netip.Addr
	sport, dport uint16
}

// addressOf returns the addresses of a frame, zeros when there are no bytes.
func addressOf(raw []byte) (a address) {
	var f roce.Frame
	if raw == nil || f.Decode(raw) != nil {
		return a
	}
	return address{f.Src, f.Dst, f.SrcPort, f.DstPort}
}
