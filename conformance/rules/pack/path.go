package pack

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// where is the port of the box at which a packet was seen, and its direction. Requests are those of side A, which the
// box accelerates; requests of B, and their answers, are elsewhere.
type where uint8

const (
	elsewhere  where = iota
	fromLocal        // a request arrives from A
	toLocal          // a response leaves for A
	toRemote         // a request leaves for B
	fromRemote       // a response arrives from B
	setUp            // a message of the communication manager, at the box
)

// path tracks one flow through the box by its four kinds of packets. A check sees a packet before path processes it.
type path struct {
	c       *rule.Context
	begun   bool      // the first request was seen
	first   psn.PSN   // first PSN of Local's requests
	exp     psn.PSN   // next PSN expected from Local
	max     psn.PSN   // PSN after the latest that left for Remote
	una     psn.PSN   // oldest PSN that Remote has not acknowledged, at the box
	acked   psn.PSN   // oldest PSN that was not acknowledged to Local
	count   int       // messages that end before exp
	base    psn.MSN   // MSN of the responder when the flow began
	based   bool      // base is known
	shown   psn.MSN   // newest MSN sent to Local
	asked   psn.PSN   // PSN after the newest request that wants an ACK and may get one
	gap     bool      // a request arrived ahead of exp, and exp has not arrived
	nakSent bool      // and a NAK of exp was sent to Local
	late    []late    // gaps that closed before their NAK left
	real    bool      // Remote has answered a request
	stuck   psn.PSN   // value of una that was last sent to Remote again
	tries   int       // number of those retransmissions
	fatal   bool      // a fatal NAK was sent by either end, or Remote's QP failed because of its own requests
	holds   []hold    // oldest first
	slots   []request // by PSN, modulo their number
	cm      management
	probe   map[string]int64 // latest values of the box's variables, by name
	told    map[string]bool  // the variable was reported
}

// late is a gap that has closed, whose NAK may still wait for the line to Local.
type late struct {
	psn psn.PSN
	at  vtime.Time // when it closed
}

// mostLate bounds the closed gaps remembered.
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

// update processes a packet.
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

// requested processes a request of Local.
func (p *path) requested(s *rule.Sight) {
	x := s.Pkt.PSN
	if !p.begun || !p.cm.connected && !p.based && x.Less(p.first) {
		p.begin(x)
	}
	switch d := x.Sub(p.exp); {
	case d > 0:
		p.nakSent = p.nakSent && p.gap
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
	if p.gap && !p.nakSent && len(p.late) < mostLate {
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
	*r = request{used: true, asked: true, psn: x, end: p.exp, packet: *s.Pkt, sum: s.Sum, count: p.count, at: s.At}
	r.packet.Payload = nil
	switch {
	case o.IsRead(), o.IsAtomic():
		p.holds = append(p.holds, hold{first: x, end: p.exp, got: x, next: x, asked: p.asked, left: x})
	case s.Pkt.AckReq:
		p.asked = p.exp
	}
}

// begin sets all PSNs to the first one.
func (p *path) begin(x psn.PSN) {
	p.begun, p.first, p.exp, p.max, p.una, p.acked, p.asked = true, x, x, x, x, x, x
	p.count, p.tries, p.holds, p.gap, p.late, p.slots = 0, 0, nil, false, nil, nil
}

// answered processes a response that leaves for Local.
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
		p.nakSent = p.nakSent || p.gap && x == p.exp
		p.late = slices.DeleteFunc(p.late, func(l late) bool { return l.psn == x })
	}
}

// waited reports whether a NAK may leave after its gap has closed, because the line was busy since. Each NAK is allowed
// once.
func (p *path) waited(s *rule.Sight) bool {
	p.late = slices.DeleteFunc(p.late, func(l late) bool { return !p.c.PeerPort.Holds(l.at, s.At) })
	return slices.ContainsFunc(p.late, func(l late) bool { return l.psn == s.Pkt.PSN })
}

// forwarded processes a request that leaves for Remote.
func (p *path) forwarded(s *rule.Sight) {
	x := s.Pkt.PSN
	if x == p.una && x.Less(p.max) {
		if p.stuck != x {
			p.stuck, p.tries = x, 0
		}
		p.tries++
	}
	if r := p.find(x); r != nil {
		p.max = psn.Max(p.max, r.end)
	}
}

// acknowledged processes a response of Remote.
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
		if h := p.owed(); h != nil && x == h.got { // data of a later READ show that this one's are lost
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

// reach moves una to x, but not past a READ whose data have not arrived.
func (p *path) reach(x psn.PSN) {
	if h := p.owed(); h != nil && h.got.Less(x) {
		x = h.got
	}
	p.una = psn.Max(p.una, x)
}
