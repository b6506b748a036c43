package rule

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Region is memory that a peer may reach.
type Region struct {
	RKey    uint32
	VA, Len uint64
	Access  engine.Access
	Bounded bool   // VA and Len are known
	PD      uint32 // protection domain
	HasPD   bool   // PD is known
}

// Within reports whether n bytes at va lie in the region; false for an address below the region, and for a range that
// wraps at 2^64.
func (r *Region) Within(va, n uint64) bool {
	off := va - r.VA
	return off <= r.Len && n <= r.Len-off
}

// MemoryMap holds the memory regions of an endpoint as far as a check knows them: those that the Spec orders the
// endpoint to offer, until it declares its own. An endpoint of which no region is known may refuse any access.
type MemoryMap struct {
	Regions  []Region
	declared bool // the endpoint has declared the regions
}

// regionLimit bounds the regions of an endpoint.
const regionLimit = 1 << 12

// Probe updates the map by an endpoint's declaration: mr_rkey begins a region, and mr_va, mr_len, mr_access and mr_pd
// set its other fields.
func (m *MemoryMap) Probe(e *trace.Event) {
	if e.Name == "mr_rkey" && len(m.Regions) < regionLimit {
		if !m.declared {
			m.declared, m.Regions = true, nil
		}
		m.Regions = append(m.Regions, Region{RKey: uint32(e.Value), Access: engine.AllAccess})
	}
	if !m.declared {
		return
	}
	switch r := &m.Regions[len(m.Regions)-1]; e.Name {
	case "mr_va":
		r.VA = uint64(e.Value)
	case "mr_len":
		r.Len, r.Bounded = uint64(e.Value), true
	case "mr_access":
		r.Access = engine.Access(e.Value)
	case "mr_pd":
		r.PD, r.HasPD = uint32(e.Value), true
	}
}

// Known reports whether any region is known.
func (m *MemoryMap) Known() bool { return len(m.list()) > 0 }

// list returns the regions; none for a nil map.
func (m *MemoryMap) list() []Region {
	if m == nil {
		return nil
	}
	return m.Regions
}

// Find returns the region with a key; nil when there is none.
func (m *MemoryMap) Find(rkey uint32) *Region {
	for i := range m.list() {
		if m.Regions[i].RKey == rkey {
			return &m.Regions[i]
		}
	}
	return nil
}

// Holds reports whether va lies in a region.
func (m *MemoryMap) Holds(va uint64) bool {
	for i := range m.list() {
		if r := &m.Regions[i]; va-r.VA < r.Len {
			return true
		}
	}
	return false
}

// Gets reports whether a placement at va can be of a request: va lies in a region, or no region is known.
func (m *MemoryMap) Gets(va uint64) bool { return m.Holds(va) || !m.Known() }

// Takes reports whether the payload of a request is placed in a region, if regions are known. The payload of a SEND
// goes to a receive buffer, which is not declared.
func (m *MemoryMap) Takes(o roce.Opcode) bool { return !m.Known() || !o.IsSend() }

// Allows reports whether a region has the key, contains n bytes at va, and grants every right in need.
func (m *MemoryMap) Allows(rkey uint32, va, n uint64, need engine.Access) bool {
	for i := range m.list() {
		if r := &m.Regions[i]; r.RKey == rkey && r.Within(va, n) && need&^r.Access == 0 {
			return true
		}
	}
	return false
}

// Forbids reports whether no region allows the access that the first packet of a request asks for. Zero bytes need no
// access.
func (m *MemoryMap) Forbids(p *roce.Packet) bool {
	need, ok := AccessOf(p.Opcode)
	n := uint64(p.RETH.DMALen)
	if p.Opcode.IsAtomic() {
		n = 8
	}
	if !ok || n == 0 || !m.Known() || p.Opcode.Layout()&(roce.LayoutRETH|roce.LayoutAtomicETH) == 0 {
		return false
	}
	return !m.Allows(p.RETH.RKey, p.RETH.VA, n, need)
}

// Placed finds the packet of a placement in memory by its payload, because a placement shows bytes and no PSN. Payloads
// within a window differ, except short ones.
type Placed struct {
	early Latest[Payload] // packets that came before their turn
	due   []Payload       // packets whose turn has come, not placed yet, oldest first; a decoder may pass up a whole block
	done  int             // payloads of due that have been placed
}

// Payload identifies the bytes of a packet.
type Payload struct {
	PSN psn.PSN
	len int
	sum uint32
}

// PayloadOf returns the Payload of a sight.
func PayloadOf(s *Sight) Payload { return Payload{s.Pkt.PSN, s.Pkt.Len, s.Sum} }

// IsOf reports whether a placement is of these bytes.
func (p Payload) IsOf(e *trace.Event) bool {
	return p.sum != 0 && p.len >= tellingLen && p.sum == e.Sum && p.len == int(e.Len)
}

const (
	tellingLen = 16      // least length in bytes of payloads that are compared; shorter ones may be equal by chance
	mostEarly  = 256     // most early packets that are remembered
	mostDue    = 1 << 15 // most payloads that wait to be placed; more than a decoder or a gap holds back
)

// Early records a packet that comes before its turn, and Due one whose turn has come.
func (p *Placed) Early(s *Sight) { p.early.Add(PayloadOf(s), mostEarly) }
func (p *Placed) Due(s *Sight) {
	if s.Pkt.Len < tellingLen || s.Sum == 0 {
		return
	}
	if len(p.due) == mostDue {
		p.due = p.due[:copy(p.due, p.due[max(p.done, mostDue/2):])]
		p.done = 0
	}
	p.due = append(p.due, PayloadOf(s))
}

// CameEarly reports whether packet x came before its turn and its turn has not come yet: x is not before expected.
func (p *Placed) CameEarly(x, expected psn.PSN) bool {
	return !x.Less(expected) && slices.ContainsFunc(p.early.List(), func(k Payload) bool { return k.PSN == x })
}

// TooSoon returns the early packet whose bytes a placement shows although the turn of the packet has not come.
func (p *Placed) TooSoon(e *trace.Event, expected psn.PSN) (early psn.PSN, ok bool) {
	if e.Sum == 0 || e.Len < tellingLen {
		return 0, false
	}
	// two messages of the window may have the same bytes, so a packet whose turn has come is preferred
	if i := slices.IndexFunc(p.due[p.done:], func(k Payload) bool { return k.IsOf(e) }); i >= 0 {
		if p.done += i + 1; p.done == len(p.due) {
			p.due, p.done = p.due[:0], 0
		}
		return 0, false
	}
	i := slices.IndexFunc(p.early.List(), func(k Payload) bool { return k.IsOf(e) && !k.PSN.Less(expected) })
	if i < 0 {
		return 0, false
	}
	return p.early.List()[i].PSN, true
}
