package rc

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// msnBase converts the MSN of a packet to requests completed since the trace began. Its base is zero when the
// attributes are known, because the count starts with the connection; otherwise the first exact acknowledgement sets
// it.
type msnBase struct {
	known bool
	base  psn.MSN
}

// exact reports whether s acknowledges exactly the requests that were completed by what arrived in order, so that its
// MSN must be the current one. Packets of a request that is not complete may have arrived since.
func exact(c *rule.Context, s *rule.Sight) bool {
	p := s.Pkt
	switch {
	case names(p), p.Opcode == roce.Acknowledge && p.AETH.Syndrome == roce.SyndromePSNSeqErr:
		return p.PSN == c.EPSN
	case p.Opcode != roce.Acknowledge:
		return false
	}
	all := p.PSN.Next() == c.EPSN
	return p.AETH.Syndrome.IsACK() && (all || c.MSN > 0 && c.Ended.LessEq(p.PSN) && p.PSN.Less(c.EPSN))
}

// names reports whether p is a selective acknowledgement of requests: its PSN is the expected one, and its MSN the
// current one.
func names(p *roce.Packet) bool { return rule.Selective(p) && !p.Opcode.NumberedApart() }

// count returns the number of completed requests that s reports; ok is false while it cannot be known.
func (m *msnBase) count(c *rule.Context, s *rule.Sight) (n psn.MSN, ok bool) {
	if !m.known && (c.Known || exact(c, s)) {
		m.known = true
		if !c.Known {
			m.base = s.Pkt.AETH.MSN.Add(-int(c.MSN))
		}
	}
	return s.Pkt.AETH.MSN.Add(-int(m.base)), m.known && c.Started
}
