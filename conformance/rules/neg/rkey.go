package neg

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// reach returns how many bytes a request accesses and the right that it needs; ok is false when it names no memory or
// no byte.
func reach(s *rule.Sight) (n uint64, need engine.Access, ok bool) {
	p := s.Pkt
	switch {
	case !s.Legal || p.Opcode.Layout()&(roce.LayoutRETH|roce.LayoutAtomicETH) == 0:
		return 0, 0, false
	case p.Opcode.IsAtomic():
		return 8, engine.RemoteAtomic, true
	case p.Opcode.IsRead():
		return uint64(p.RETH.DMALen), engine.RemoteRead, p.RETH.DMALen > 0
	}
	return uint64(p.RETH.DMALen), engine.RemoteWrite, p.RETH.DMALen > 0 && p.Opcode.StartsMessage()
}

// guarded makes the check for requests that violate a declared region. While no region is declared, no key is known to
// be wrong.
func guarded(what string, bad func(c *rule.Context, r *rule.MemoryMap,
	s *rule.Sight) int) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		j := refusal{c: c, what: what, code: roce.SyndromeRemoteAccess, untouched: true}
		j.bad = func(s *rule.Sight) int { return bad(c, c.Memory, s) }
		return j.check()
	}
}

var unknownKey = rule.Rule{
	ID: "NEG-RKEY-001", Level: rule.Must,
	Title: "An unknown R_Key draws NAK 0x62; the QP is then in error, and memory is untouched",
	Source: rule.Source{Ref: "IBTA 9.7.4.1.5", Requirement: "When the R_Key is not valid the responder returns NAK " +
		"remote access error and does not execute the request"},
	Needs: rule.TapResponder | rule.Regions, Sees: rule.Accepts | rule.ResponseOut,
	Stimulus: "a request with an unknown R_Key", BlackBox: "HW,RXE",
	New: guarded("request with an unknown R_Key", func(_ *rule.Context, r *rule.MemoryMap, s *rule.Sight) int {
		if _, _, ok := reach(s); ok && r.Known() && r.Find(s.Pkt.RETH.RKey) == nil {
			return 1
		}
		return 0
	}),
}

var outOfBounds = rule.Rule{
	ID: "NEG-RKEY-002", Level: rule.Must,
	Title: "An address range that leaves the memory region, by wrapping at 2^64 too, draws NAK 0x62",
	Source: rule.Source{Ref: "IBTA 9.7.4.1.5", Requirement: "The range from the virtual address over the DMA length " +
		"must lie within the bounds of the region, otherwise remote access error"},
	Needs: rule.TapResponder | rule.Regions, Sees: rule.Accepts | rule.ResponseOut,
	Stimulus: "a request that reaches beyond its region", BlackBox: "HW,RXE",
	New: guarded("request beyond its region", func(c *rule.Context, r *rule.MemoryMap, s *rule.Sight) int {
		n, _, ok := reach(s)
		m := r.Find(s.Pkt.RETH.RKey)
		if !ok || m == nil || !m.Bounded {
			return 0
		}
		if m.Within(s.Pkt.RETH.VA, n) {
			return 0
		}
		// A responder that checks packet by packet finds the fault later in the message.
		if s.Pkt.Opcode.IsWrite() {
			return max(1, c.Packets(uint32(n)))
		}
		return 1
	}),
}

var withoutRight = rule.Rule{
	ID: "NEG-RKEY-003", Level: rule.Must,
	Title: "An R_Key of another protection domain, or without the right that the operation needs, draws NAK 0x62",
	Source: rule.Source{Ref: "IBTA 10.6.3, 9.7.4.1.5", Requirement: "The region must be of the protection domain of the " +
		"queue pair and allow the operation, otherwise remote access error"},
	Needs: rule.TapResponder | rule.Regions, Sees: rule.Accepts | rule.ResponseOut,
	Stimulus: "a request without the right to its region", BlackBox: "HW,RXE",
	New: guarded("request without the right to its region",
		func(c *rule.Context, r *rule.MemoryMap, s *rule.Sight) int {
			_, need, ok := reach(s)
			m := r.Find(s.Pkt.RETH.RKey)
			if c.Known && c.PeerAttr.Access&need == 0 {
				return 0 // the queue pair does not allow the operation, which RC-OPC-003 judges
			}
			if ok && m != nil && (m.Access&need == 0 || m.HasPD && c.Known && m.PD != c.PeerAttr.PD) {
				return 1
			}
			return 0
		}),
}

// zeroLength judges requests with keys of no region when the regions are known, and otherwise with any key.
var zeroLength = rule.Rule{
	ID: "NEG-RKEY-004", Level: rule.Must,
	Title: "A WRITE or READ of no bytes succeeds whatever its R_Key",
	Source: rule.Source{Ref: "IBTA 9.7.4.1.5, C9-88",
		Requirement: "For a request of zero length the R_Key and the address are not checked"},
	Needs: rule.TapResponder, Sees: rule.Accepts | rule.ResponseOut, Wakes: rule.Empty, Dozes: true,
	Stimulus: "a request of no bytes with a wrong R_Key", BlackBox: "HW,RXE",
	New: func(c *rule.Context) rule.Check {
		waiting, at := false, psn.PSN(0)
		return rule.Check{Sight: func(s *rule.Sight) {
			p := s.Pkt
			switch {
			case s.Point == trace.ResponderIn:
				empty := s.Legal && p.RETH.DMALen == 0 &&
					(p.Opcode.IsRead() || p.Opcode.IsWrite() && p.Opcode.IsOnly())
				if empty && !waiting && !c.Fatal && c.Memory.Find(p.RETH.RKey) == nil {
					waiting, at = true, p.PSN
				}
			case !waiting || p.PSN.Less(at):
			case rule.IsFatalNAK(p) && p.PSN == at && !c.Known && p.AETH.Syndrome != roce.SyndromeRemoteAccess:
				waiting = false
				c.Doubt("a request of no bytes was refused, for another reason than its key: the operation may not be permitted")
			case rule.IsFatalNAK(p) && p.PSN == at:
				waiting = false
				c.Failf(rule.Responder,
					"request of no bytes at %s draws NAK %#02x; its key is not checked, an ACK expected", c.Rel(at),
					uint8(p.AETH.Syndrome))
			default:
				if last, ok := rule.Acknowledged(p); ok && at.LessEq(last) {
					waiting = false
					c.Met()
				}
			}
		}}
	},
}
