package wrk

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

func nakHasCause() rule.Rule {
	return rule.Rule{
		ID: "WRK-NAK-001", Level: rule.Must, Rests: validity.Sequence,
		Title: "A fatal NAK has a request at fault: remote access only for a key, range or right that is wrong, invalid request only for an illegal one",
		Source: rule.Source{Ref: "IBTA 9.7.5.2", Quote: "A NAK tells of an error that the responder detected: an invalid request, a violation of " +
			"access rights, or an error of its own that kept it from completing the request."},
		Needs: rule.TapResponder | rule.Attributes, Sees: rule.RequestIn | rule.ReleaseIn | rule.ResponseOut, Stimulus: "a fatal NAK",
		BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			g := guilt{c: c, shortest: 1 << 32}
			g.regions = append(g.regions, c.Told()...)
			return rule.Check{Sight: g.sight, Event: g.event}
		},
	}
}

// guilt is what could be wrong with the requests that have arrived. It is not forgotten: a NAK may be late, and one without any
// request at fault before it is the only one that is surely wrong.
type guilt struct {
	c        *rule.Context
	regions  []rule.Region
	probed   bool // the regions are those that the responder itself declares
	shortest uint64
	access   bool // a request asked for memory that it may not reach
	illegal  bool // a request was not legal, or may not have been
	other    bool // the harness made or changed one, or it is not known what the responder makes of it
	fault    bool // the responder reports an error of its own
	refused  bool
}

func (g *guilt) event(e *trace.Event) {
	if g.c.Mine(e) {
		return
	}
	switch {
	case e.Kind == trace.Receive:
		g.shortest = min(g.shortest, uint64(e.Len))
	case e.Kind == trace.Recv && e.Body.Status != engine.StatusSuccess && e.Body.Status != engine.StatusFlushed,
		e.Kind == trace.Fatal && (e.Body.Status == engine.StatusLocalProtection || e.Body.Status == engine.StatusRemoteOp):
		g.fault = true
	case e.Kind == trace.Probe:
		g.probe(e)
	}
}

// probe takes the regions that the responder declares, which are in force whatever it was told.
func (g *guilt) probe(e *trace.Event) {
	if e.Name == "mr_rkey" && len(g.regions) < 1<<12 {
		if !g.probed {
			g.probed, g.regions = true, nil
		}
		g.regions = append(g.regions, rule.Region{RKey: uint32(e.Value), Access: engine.AllAccess})
	}
	if !g.probed {
		return
	}
	switch r := &g.regions[len(g.regions)-1]; e.Name {
	case "mr_va":
		r.VA = uint64(e.Value)
	case "mr_len":
		r.Len = uint64(e.Value)
	case "mr_access":
		r.Access = engine.Access(e.Value)
	case "mr_pd":
		g.other = g.other || g.c.Known && uint32(e.Value) != g.c.PeerAttr.PD
	}
}

func (g *guilt) sight(s *rule.Sight) {
	if s.Point == trace.ResponderOut {
		g.answer(s)
		return
	}
	if !s.Intact() {
		return
	}
	c, p := g.c, s.Pkt
	g.other = g.other || s.Rec.Fate == trace.Injected || s.Rec.Changed != nil || c.Mixed() && p.Opcode.Class() != roce.ClassRC
	g.illegal = g.illegal || s.Due() && !s.Legal || g.shapeless(s)
	g.access = g.access || g.forbidden(p)
}

// shapeless reports a request that may be refused as invalid, as far as its packet tells.
func (g *guilt) shapeless(s *rule.Sight) bool {
	c, p := g.c, s.Pkt
	o := p.Opcode
	need, _ := rightOf(o)
	switch {
	case need&^c.PeerAttr.Access != 0, o.IsAtomic() && p.RETH.VA%8 != 0, o.Layout()&roce.LayoutIETH != 0:
		return true
	case o.IsRead() || o.IsAtomic():
		return c.Attr.MaxRdAtomic > c.PeerAttr.MaxDestRd || p.RETH.DMALen > 1<<31
	case o.IsSend():
		return uint64(p.Len) > g.shortest || s.Legal && uint64(c.Filled(p)+p.Len) > g.shortest
	}
	return false
}

// rightOf returns the right that a request needs; ok is false when it needs none.
func rightOf(o roce.Opcode) (need engine.Access, ok bool) {
	switch rule.OperationOf(o) {
	case rule.Read:
		return engine.RemoteRead, true
	case rule.Write:
		return engine.RemoteWrite, true
	case rule.Atomic:
		return engine.RemoteAtomic, true
	}
	return 0, false
}

// forbidden reports a request for memory that no region offers.
func (g *guilt) forbidden(p *roce.Packet) bool {
	need, ok := rightOf(p.Opcode)
	n := uint64(p.RETH.DMALen)
	if p.Opcode.IsAtomic() {
		n = 8
	}
	if !ok || n == 0 || len(g.regions) == 0 || p.Opcode.Layout()&(roce.LayoutRETH|roce.LayoutAtomicETH) == 0 {
		return false
	}
	for _, r := range g.regions {
		if off := p.RETH.VA - r.VA; r.RKey == p.RETH.RKey && off <= r.Len && n <= r.Len-off && need&^r.Access == 0 {
			return false
		}
	}
	return true
}

// answer judges the first fatal NAK.
func (g *guilt) answer(s *rule.Sight) {
	c, p := g.c, s.Pkt
	if p.Opcode != roce.Acknowledge || !rule.IsFatal(p.AETH.Syndrome) || g.refused || s.Rec.Fate == trace.Injected {
		return
	}
	g.refused = true
	code := uint8(p.AETH.Syndrome)
	switch a := p.AETH.Syndrome; {
	case g.other || c.AtBox || c.Mixed():
	case !p.PSN.Less(c.EPSN) && !g.illegal && !g.access:
		// the request that it names has not been seen
	case a == roce.SyndromeRemoteAccess && len(g.regions) == 0, a == roce.SyndromeInvalidReq && g.access, a == roce.SyndromeRemoteAccess && g.illegal:
		// nobody knows, or it is for others to say which of two faults comes first
	case a == roce.SyndromeRemoteAccess && !g.access:
		c.Failf(rule.Responder, "NAK %#02x for %s: every request that came asks for memory that it may reach", code, c.Rel(p.PSN))
	case a == roce.SyndromeInvalidReq && !g.illegal:
		c.Failf(rule.Responder, "NAK %#02x for %s: every request that came is legal", code, c.Rel(p.PSN))
	case a == roce.SyndromeRemoteOp && !g.fault && !g.illegal && !g.access && c.Offers(rule.Probes):
		c.Failf(rule.Responder, "NAK %#02x for %s: the responder tells of no error", code, c.Rel(p.PSN))
	case a == roce.SyndromeRemoteOp && !g.fault:
	default:
		c.Met()
	}
}
