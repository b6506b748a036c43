package wrk

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var nakHasCause = rule.Rule{
	ID: "WRK-NAK-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "A fatal NAK has a request at fault: remote access only for a key, range or right that is wrong, invalid " +
		"request only for an illegal one",
	Source: rule.Source{Ref: "IBTA 9.7.5.2", Requirement: "A NAK tells of an error that the responder detected: an " +
		"invalid request, a violation of access rights, or an error of its own that kept it from completing the request."},
	Needs: rule.TapResponder | rule.Frames, Sees: rule.RequestIn | rule.ReleaseIn | rule.ResponseOut,
	Minds: rule.AnyKind &^ (rule.Writing | rule.Empty | rule.Asked), Stimulus: "a fatal NAK",
	BlackBox: hardware,
	Each: func(c *rule.Context, s *rule.Sight) {
		if c.Offers(rule.TapResponder | rule.Attributes) {
			guiltOf(c).sight(c, s)
		} else {
			nakByItself(c, s)
		}
	},
	Told: func(c *rule.Context, e *trace.Event) { guiltOf(c).event(c, e) },
}

// nakByItself judges a fatal NAK where it is not known which requests were at fault: one code is right for none of a
// reliable connection.
func nakByItself(c *rule.Context, s *rule.Sight) {
	p, made := s.Pkt, c.Maker(s)
	switch {
	case made != rule.AtPort && made != rule.Sealed:
	case ofDatagrams(p):
		c.Failf(rule.Responder, onlyDatagrams, c.Rel(p.PSN))
	case rule.IsFatalNAK(p):
		c.Doubt("needs the responder's tap and the QP attributes of both ends")
	}
}

// ofDatagrams reports whether a packet is a NAK with the code for invalid requests of reliable datagrams.
func ofDatagrams(p *roce.Packet) bool {
	return p.Opcode == roce.Acknowledge && p.AETH.Syndrome == roce.SyndromeInvalidRD
}

const onlyDatagrams = "NAK 0x64 for %s: invalid request of a reliable datagram, and this is a reliable connection"

// guilt holds the faults of the requests that arrived. They are never forgotten, because a NAK may be late: only a NAK
// without any faulty request before it is surely wrong.
type guilt struct {
	memory   rule.MemoryMap // of the responder
	shortest uint64         // length of the shortest receive
	access   bool           // a request asked for memory that it may not reach
	illegal  bool           // a request was not legal, or may not have been
	other    bool           // the harness made or changed a request, or the responder's treatment of one is not known
	fault    bool           // the responder reports an error of its own
	unsure   bool           // a request took a receive that is not reported, and may have been too short
	refused  bool           // a fatal NAK was sent
}

// guiltKey is the key of the guilt of a half-conversation, of which most have none.
type guiltKey struct{}

// guiltOf returns the guilt of a half-conversation.
func guiltOf(c *rule.Context) *guilt {
	return c.Shared(guiltKey{}, func() any {
		return &guilt{shortest: 1 << 32, memory: rule.MemoryMap{Regions: c.Told()}}
	}).(*guilt)
}

func (g *guilt) event(c *rule.Context, e *trace.Event) {
	if c.Mine(e) {
		return
	}
	switch {
	case e.Kind == trace.Receive:
		g.shortest = min(g.shortest, uint64(e.Len))
	case e.Kind == trace.Recv && e.Body.Status != engine.StatusSuccess && e.Body.Status != engine.StatusFlushed,
		e.Kind == trace.Fatal && (e.Body.Status == engine.StatusLocalProtection ||
			e.Body.Status == engine.StatusRemoteOp):
		g.fault = true
	case e.Kind == trace.Probe:
		g.memory.Probe(e)
		g.other = g.other || e.Name == "mr_pd" && c.Known && uint32(e.Value) != c.PeerAttr.PD
	}
}

func (g *guilt) sight(c *rule.Context, s *rule.Sight) {
	if s.Point == trace.ResponderOut {
		g.answer(c, s)
		return
	}
	if !s.Intact() {
		return
	}
	p := s.Pkt
	g.other = g.other || s.Rec.Fate == trace.Injected || s.Rec.Changed != nil || c.Mixed() &&
		p.Opcode.Class() != roce.ClassRC
	g.illegal = g.illegal || s.Due() && !s.Legal || g.shapeless(c, s)
	g.access = g.access || g.memory.Forbids(p)
}

// shapeless reports whether a request may be refused as invalid, as far as its packet shows.
func (g *guilt) shapeless(c *rule.Context, s *rule.Sight) bool {
	p := s.Pkt
	o := p.Opcode
	need, _ := rule.AccessOf(o)
	switch {
	case need&^c.PeerAttr.Access != 0, o.IsAtomic() && p.RETH.VA%8 != 0, o.Layout()&roce.LayoutIETH != 0:
		return true
	case o.IsRead() || o.IsAtomic():
		return c.Attr.MaxRdAtomic > c.PeerAttr.MaxDestRd || p.RETH.DMALen > 1<<31
	case o.IsSend():
		g.unsure = g.unsure || !c.Offers(rule.Posted)
		return uint64(p.Len) > g.shortest || s.Legal && uint64(c.Filled(p)+p.Len) > g.shortest
	}
	return false
}

// answer judges the first fatal NAK.
func (g *guilt) answer(c *rule.Context, s *rule.Sight) {
	p := s.Pkt
	if ofDatagrams(p) && s.Rec.Fate != trace.Injected {
		c.Failf(rule.Responder, onlyDatagrams, c.Rel(p.PSN))
	}
	if !rule.IsFatalNAK(p) || g.refused || s.Rec.Fate == trace.Injected {
		return
	}
	g.refused = true
	code := uint8(p.AETH.Syndrome)
	switch a := p.AETH.Syndrome; {
	case g.other || c.AtBox || c.Mixed():
	case !p.PSN.Less(c.EPSN) && !g.illegal && !g.access:
		// The request that it names has not been seen.
	case a == roce.SyndromeRemoteAccess && !g.memory.Known(), a == roce.SyndromeInvalidReq && g.unsure && !g.illegal,
		a == roce.SyndromeInvalidReq && g.access, a == roce.SyndromeRemoteAccess && g.illegal:
		// The cause is not known, or other rules judge which of two faults comes first.
	case a == roce.SyndromeRemoteAccess && !g.access:
		c.Failf(rule.Responder, "NAK %#02x for %s: every request that arrived asks for permitted memory", code, c.Rel(p.PSN))
	case a == roce.SyndromeInvalidReq && !g.illegal:
		c.Failf(rule.Responder, "NAK %#02x for %s: every request that arrived is legal", code, c.Rel(p.PSN))
	case a == roce.SyndromeRemoteOp && !g.fault && !g.illegal && !g.access && c.Offers(rule.Completions):
		c.Failf(rule.Responder, "NAK %#02x for %s: the responder reports no error", code, c.Rel(p.PSN))
	case a == roce.SyndromeRemoteOp && !g.fault:
	default:
		c.Met()
	}
}
