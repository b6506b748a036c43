package pack

import (
	"slices"

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

// path follows one flow through the box by its four kinds of packets. A check sees a packet before path has moved past
// it.
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

// late is a gap that has closed, and when: its NAK may be waiting for the line to Local.
type late struct {
	psn psn.PSN
	at  vtime.Time
}

// mostLate bounds the gaps whose NAKs are looked out for.
const mostLate = 64

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
	*r = request{used: true, asked: true, psn: x, end: p.exp, packet: *s.Pkt, sum: s.Sum, count: p.count, at: s.At,
		size: s.Rec.WireBytes - aroundFrame}
	r.packet.Payload = nil
	switch {
	case o.IsRead(), o.IsAtomic():
		p.holds = append(p.holds, hold{first: x, end: p.exp, got: x, next: x, asked: p.asked, since: x, left: x})
	case s.Pkt.AckReq:
		p.asked = p.exp
	}
}

// aroundFrame is the bytes that layer 1 adds to a frame: FCS, preamble and gap.
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

// waited reports a NAK that leaves after what it asks for has come: the line was busy all the while, and it is said
// once.
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

// reach moves una, but not past a READ whose data have not come.
func (p *path) reach(x psn.PSN) {
	if h := p.owed(); h != nil && h.got.Less(x) {
		x = h.got
	}
	p.una = psn.Max(p.una, x)
}
