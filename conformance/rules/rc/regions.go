package rc

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// regions is the responder's memory as it declares it, by probes: mr_rkey begins a region, mr_va, mr_len and mr_access
// say the rest. A responder that declares none may refuse what it likes.
type regions struct{ list []region }

type region struct {
	rkey    uint32
	va, len uint64
	access  engine.Access
}

func (m *regions) probe(e *trace.Event) {
	if e.Name == "mr_rkey" && len(m.list) < placementLimit {
		m.list = append(m.list, region{rkey: uint32(e.Value), access: engine.AllAccess})
	}
	if len(m.list) == 0 {
		return
	}
	switch r := &m.list[len(m.list)-1]; e.Name {
	case "mr_va":
		r.va = uint64(e.Value)
	case "mr_len":
		r.len = uint64(e.Value)
	case "mr_access":
		r.access = engine.Access(e.Value)
	}
}

// forbids reports whether no region allows what p, a request with a RETH, asks for.
func (m *regions) forbids(p *roce.Packet) bool {
	need, ok := accessOf(p.Opcode)
	n := uint64(p.RETH.DMALen)
	if !ok || len(m.list) == 0 || p.Opcode.Layout()&roce.LayoutRETH == 0 || n == 0 {
		return false
	}
	for _, r := range m.list {
		if off := p.RETH.VA - r.va; r.rkey == p.RETH.RKey && off <= r.len && n <= r.len-off && need&^r.access == 0 {
			return false
		}
	}
	return true
}

// declared reports whether any region is known.
func (m *regions) declared() bool { return len(m.list) > 0 }

// hold reports whether va lies in a region.
func (m *regions) hold(va uint64) bool {
	for _, r := range m.list {
		if va-r.va < r.len {
			return true
		}
	}
	return false
}
