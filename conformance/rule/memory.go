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

// Within reports whether n bytes at va lie in the region. An address below it, or a range that wraps at 2^64, does not.
func (r *Region) Within(va, n uint64) bool {
	off := va - r.VA
	return off <= r.Len && n <= r.Len-off
}

// MemoryMap is the memory of an endpoint as far as a judge knows it: the regions that it was told to offer, until it
// declares its own. One that declares none may refuse what it likes.
type MemoryMap struct {
	Regions  []Region
	declared bool // they are those that the endpoint itself declares
}

// regionLimit bounds the regions of an endpoint.
const regionLimit = 1 << 12

// Probe takes what an endpoint declares: mr_rkey begins a region, and mr_va, mr_len, mr_access and mr_pd say the rest.
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

// list returns the regions; those of nil are none.
func (m *MemoryMap) list() []Region {
	if m == nil {
		return nil
	}
	return m.Regions
}

// Find returns the region of a key, nil when there is none.
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

// Gets reports whether a placement at va can be that of a request: it lies in a region, or none has been declared.
func (m *MemoryMap) Gets(va uint64) bool { return m.Holds(va) || !m.Known() }

// Takes reports whether the payload of a request is placed in a region. That of a SEND goes to a receive buffer, which
// nobody declares.
func (m *MemoryMap) Takes(o roce.Opcode) bool { return !m.Known() || !o.IsSend() }

// Allows reports whether a region has the key, holds n bytes at va, and gives all rights that are needed.
func (m *MemoryMap) Allows(rkey uint32, va, n uint64, need engine.Access) bool {
	for i := range m.list() {
		if r := &m.Regions[i]; r.RKey == rkey && r.Within(va, n) && need&^r.Access == 0 {
			return true
		}
	}
	return false
}

// Forbids reports whether no region allows what the first packet of a request asks for. One that asks for no bytes asks
// for nothing.
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

// Placed tells packets by what is placed in memory: a placement shows its bytes and not its PSN. Within a window
// payloads differ, but not when they are a byte or two long.
type Placed struct {
	early Latest[Payload] // came before their turn
	due   []Payload       // have their turn and are not placed yet, oldest first: a decoder gives a block at once
	done  int             // of due
}

// Payload identifies the bytes of a packet.
type Payload struct {
	PSN psn.PSN
	len int
	sum uint32
}

// PayloadOf returns that of a sight.
func PayloadOf(s *Sight) Payload { return Payload{s.Pkt.PSN, s.Pkt.Len, s.Sum} }

// IsOf reports whether a placement shows these bytes.
func (p Payload) IsOf(e *trace.Event) bool {
	return p.sum != 0 && p.len >= tellingLen && p.sum == e.Sum && p.len == int(e.Len)
}

const (
	tellingLen = 16      // least length of a payload that is not equal to another by chance
	mostEarly  = 256     // early packets that are remembered
	mostDue    = 1 << 15 // payloads that wait to be placed, above what a decoder or a gap holds back
)

// Early notes a packet that comes before its turn, and Due one whose turn it is.
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

// CameEarly reports whether a packet came before its turn, which has not come: those before expected have had theirs.
func (p *Placed) CameEarly(x, expected psn.PSN) bool {
	return !x.Less(expected) && slices.ContainsFunc(p.early.List(), func(k Payload) bool { return k.PSN == x })
}

// TooSoon returns the early packet whose bytes a placement shows although its turn has not come.
func (p *Placed) TooSoon(e *trace.Event, expected psn.PSN) (early psn.PSN, ok bool) {
	if e.Sum == 0 || e.Len < tellingLen {
		return 0, false
	}
	// perhaps two messages of the window with the same bytes
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
